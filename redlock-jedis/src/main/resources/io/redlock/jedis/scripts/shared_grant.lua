-- Lets one owner read one name, unless somebody holds it exclusively or a writer waits before it.
-- KEYS: lock, fence, queue (waiters by ticket), ends (waiters by the last ms of their tickets),
-- readers (owners by the last ms of their entries; if negated: of their tombstones), floor (a
-- counter, and the token that a reader must be above while that is the counter); the birth mark.
-- ARGV: owner, T, ttl (ms), retention (ms), skew (us), the highest counter that a node has reported
-- to the owner (0 = none), waiter, ticket (us), life of the ticket (ms, 0 = no ticket), sent (us),
-- birth and served (see extend.lua).
-- Returns: what fair_grant.lua returns.
-- The lock is written last: without it entries count nothing, so a denied command leaves none.
local call = redis.call
local lock, fence, queue, ends, readers, floor, mark = unpack(KEYS)
local owner, T, ttl, retention, skew, reported, waiter, ticket, life, sent, birth, served =
  unpack(ARGV)

-- INSERT may_grant.lua
-- E2
if sent + 0 > now + skew or sent + 0 < now - ttl * 1000 - skew then
  return 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
end
local nowMillis = math.floor(now / 1000)
local before = string.format('(%.0f', nowMillis)

local holder = call('GET', lock)
local highest = call('GET', fence) or '0'
-- G6
if highest + 0 > now + 2 ^ 45 then
  return 'FAR ' .. T .. ' 1'
end
local entry = (call('ZSCORE', readers, owner) or 0) + 0
-- S1
local shared = holder == 'shared/'
local held = holder and not shared
-- INSERT floor.lua
-- S4
if not held and (-entry >= nowMillis or token <= low + 0) then
  return 'STALE ' .. T .. ' ' .. highest
end

local lockLives = holder and call('PTTL', lock) or 0
local readersLive = call('PTTL', readers)
local fenceLives = call('PTTL', fence)
-- INSERT tickets.lua

-- Returns the end of the ticket of the first writer before the caller; then the reader after it.
-- S7
local function inQueue()
  local passed
  for first = 0, 2 ^ 20, 20 do
    local some = call('ZRANGE', queue, first, first + 19)
    for _, other in ipairs(some) do
      local counts = not over[other]
      local reads = string.find(other, ':0%d+$')
      if counts and passed then
        return nil, reads and other
      elseif counts and other == waiter then
        passed = true
      elseif counts and not reads then
        local untilMillis = call('ZSCORE', ends, other)
        if untilMillis then
          return untilMillis
        end
      end
    end
    if #some < 20 then
      return
    end
  end
end

local writerUntil, nextReader = inQueue()
if writerUntil then
  forgetThem()
  return 'WAIT ' .. T .. ' ' .. string.format('%.0f', writerUntil - nowMillis)
end

-- What needs memory is written first.
local keeps = math.max(retention, fenceLives)
-- INSERT count.lua
-- S2
if not shared then
  call('ZREMRANGEBYSCORE', readers, string.format('(%.0f', -nowMillis), '+inf') -- all entries
end
local untilMillis = math.max(nowMillis + ttl, shared and entry or 0)
call('ZADD', readers, string.format('%.0f', untilMillis), owner)
local expires = redis.pcall('PEXPIRE', readers, math.max(ttl + 1000, readersLive))
if type(expires) == 'table' then -- it must not stay without an end
  call('ZREM', readers, owner)
  expires.err = expires.err .. ' (PEXPIRE)'
  return expires
end
if shared then
  call('ZREMRANGEBYSCORE', readers, string.format('(%.0f', -nowMillis), before) -- what is over
end
if untilMillis < nowMillis + life then
  -- The ticket of a reader that dies must not block the name for longer than its entry does.
  call('ZADD', ends, 'XX', string.format('%.0f', untilMillis), waiter)
end
forgetThem()
if nextReader then
  local client, number = string.match(nextReader, '^(.*):(%d+)$')
  redis.pcall('PUBLISH', 'redlock:wake:' .. client, number)
end
-- Ends with the longest entry, and never before it: the server's clock goes on within a script, so
-- only times from now count.
call('SET', lock, 'shared/', 'PX', math.max(ttl, lockLives))
return 'GRANT ' .. T
