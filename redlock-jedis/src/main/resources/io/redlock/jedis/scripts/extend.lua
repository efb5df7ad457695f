-- Extends what one owner holds. A name that is free and has no later token is locked again: the
-- node joins the lease. With several names: all or nothing.
-- The token may be ahead of the clock by any amount, because a quorum granted it.
-- KEYS: lock and fence of each name in turn; then the birth mark.
-- ARGV: value (owner@T), T, ttl (ms), retention (ms), skew (us), sent (us), birth ('' = no guard),
-- the part of the birth mark that names the caller among the clients that the node serves ('' = no
-- guard).
-- Returns: EXTENDED T | JOINED T | NOT_HELD T | NOT_HELD T freed/... (see free.lua) | ABSTAIN T
-- Another birth mark forbids to join. A caller that is not served extends nothing at all, so that
-- its leases end when a change of masters leaves it behind.
-- Missing locks are written last, so that a denied command leaves none behind.
local call = redis.call
local value, T, ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local last = #KEYS - 1

local missing
for i = 1, last, 2 do
  local holder = call('GET', KEYS[i])
  local fence = call('GET', KEYS[i + 1])
  -- E1
  -- INSERT own_key.lua
  if not holder then
    -- E3
    if T + 0 <= (fence or 0) + 0 then
      return 'NOT_HELD ' .. T
    end
    missing = missing or {}
    missing[#missing + 1] = i
  elseif not isOwn then
    -- F7
    local freed = string.match(holder, '^freed/[!-~]*$') -- by an operator
    return 'NOT_HELD ' .. T .. (freed and ' ' .. string.sub(freed, 1, 192) or '')
  end
end

-- N3, N8
local mark = ARGV[8] ~= '' and (call('GET', KEYS[#KEYS]) or '') -- '' is no mark either
if mark and not string.find(mark, ARGV[8], 1, true) then
  return (missing and 'NOT_HELD ' or 'ABSTAIN ') .. T
end

-- E2
local joins = {}
if missing then
  local token, skew, sent, birth = T + 0, ARGV[5], ARGV[6] + 0, ARGV[7]
  local time = call('TIME')
  local now = time[1] * 1000000 + time[2]
  if token > now + 2 ^ 45 or sent > now + skew or sent < now - ttl * 1000 - skew
      or (birth ~= '' and string.find(mark or '', birth, 1, true) ~= 1) then
    return 'NOT_HELD ' .. T
  end
  local aheadMillis = math.max(0, math.ceil((token - now) / 1000)) -- the counter outlives it
  for _, i in ipairs(missing) do
    local keeps = math.max(retention + aheadMillis, call('PTTL', KEYS[i + 1]))
    call('SET', KEYS[i + 1], T, 'PX', keeps)
    joins[i] = true
  end
end
for i = 1, last, 2 do
  if not joins[i] then
    if call('PTTL', KEYS[i]) < ttl + 0 then
      call('PEXPIRE', KEYS[i], ttl)
    end
    if call('PTTL', KEYS[i + 1]) < retention + 0 then
      call('PEXPIRE', KEYS[i + 1], retention)
    end
  end
end
if not missing then
  return 'EXTENDED ' .. T
end
for _, i in ipairs(missing) do
  call('SET', KEYS[i], value, 'PX', ttl)
end
return 'JOINED ' .. T
