-- Extends the entry of one reader. Without one it joins, unless a writer has come since.
-- KEYS: lock, fence, readers, floor (see shared_grant.lua); then the birth mark.
-- ARGV: owner; then what extend.lua gets from T on.
-- Returns: what extend.lua returns.
local call = redis.call
local lock, fence, readers, floor, birthMark = unpack(KEYS)
local owner, T, ttl, retention, skew, sent, birth, served = unpack(ARGV)

local holder = call('GET', lock)
local shared = holder == 'shared/'
if holder and not shared then
  -- F7
  local freed = string.match(holder, '^freed/[!-~]*$') -- by an operator
  return 'NOT_HELD ' .. T .. (freed and ' ' .. string.sub(freed, 1, 192) or '')
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local nowMillis = math.floor(now / 1000)
local token = T + 0
local entry = (call('ZSCORE', readers, owner) or 0) + 0
local reads = shared and entry >= nowMillis
local highest = call('GET', fence) or '0'
-- INSERT floor.lua
-- S5
if not reads and (-entry >= nowMillis or token <= low + 0) then
  return 'NOT_HELD ' .. T
end

-- N3, N8
local mark = served ~= '' and (call('GET', birthMark) or '') -- '' is no mark either
if mark and not string.find(mark, served, 1, true) then
  return (reads and 'ABSTAIN ' or 'NOT_HELD ') .. T
end
-- E2
if not reads and (token > now + 2 ^ 45 or sent + 0 > now + skew or sent + 0 < now - ttl * 1000 - skew
    or birth ~= '' and string.find(mark or '', birth, 1, true) ~= 1) then
  return 'NOT_HELD ' .. T
end

-- To join, what needs memory is written first; to extend, what needs none.
local lockLives = call('PTTL', lock)
local readersLive = math.max(ttl + 1000, call('PTTL', readers))
local keeps = math.max(retention, call('PTTL', fence))
if reads then
  call('PEXPIRE', readers, readersLive)
  call('PEXPIRE', fence, keeps)
else
  -- INSERT count.lua
end
if not shared then
  -- S2
  call('ZREMRANGEBYSCORE', readers, string.format('(%.0f', -nowMillis), '+inf')
end
call('ZADD', readers, string.format('%.0f', math.max(nowMillis + ttl, reads and entry or 0)), owner)
if not reads then
  local expires = redis.pcall('PEXPIRE', readers, readersLive)
  if type(expires) == 'table' then -- it must not stay without an end
    call('ZREM', readers, owner)
    expires.err = expires.err .. ' (PEXPIRE)'
    return expires
  end
end
-- Times from now, as in shared_grant.lua.
call('SET', lock, 'shared/', 'PX', math.max(ttl, lockLives))
return (reads and 'EXTENDED ' or 'JOINED ') .. T
