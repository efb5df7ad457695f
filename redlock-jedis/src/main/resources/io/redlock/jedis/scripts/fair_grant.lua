-- Locks one name for the waiter that is first in its queue, and gives each caller a ticket.
-- KEYS: lock, fence, queue (waiters by ticket), ends (waiters by the last ms of their tickets);
-- then the birth mark.
-- ARGV: value (owner@T), T, ttl (ms), retention (ms), skew (us), the highest counter that a node has
-- reported to the owner (0 = none), waiter, ticket (us), life of the ticket (ms, 0 = no ticket),
-- birth and served (see extend.lua).
-- Returns: what grant.lua returns | WAIT T, the rest of the first ticket's life (ms)
-- The lock is written last: a denied command leaves no lock behind, and leaves a ticket only if the
-- ticket can be removed.
local call = redis.call
local lock, fence, queue, ends, mark = unpack(KEYS)
local value, T, ttl, retention, skew, reported, waiter, ticket, life, birth, served = unpack(ARGV)

-- INSERT may_grant.lua
local nowMillis = math.floor(now / 1000)

local holder = call('GET', lock)
local highest = call('GET', fence) or '0'
-- G6
if highest + 0 > now + 2 ^ 45 then
  return 'FAR ' .. T .. ' 1'
end
-- G2, G3, G4, G5
-- INSERT own_key.lua
local held = holder and not isOwn
if not held
    and (token < tonumber(highest) or (not holder and token == tonumber(highest))) then
  return 'STALE ' .. T .. ' ' .. highest
end

local lockLives = call('PTTL', lock)
local aheadMillis = math.max(0, math.ceil((token - now) / 1000)) -- the counter outlives it
local keeps = math.max(retention + aheadMillis, call('PTTL', fence))
-- INSERT tickets.lua

local function first()
  for _, waiter in ipairs(call('ZRANGE', queue, 0, #over)) do
    if not over[waiter] then
      return waiter
    end
  end
end

-- Q2
local head = not holder and first()
while head and head ~= waiter do
  local untilMillis = call('ZSCORE', ends, head)
  if untilMillis then
    forgetThem()
    return 'WAIT ' .. T .. ' ' .. string.format('%.0f', untilMillis - nowMillis)
  end
  call('ZREM', queue, head) -- the ends expired in the middle of this script
  head = first()
end

local lives = holder and math.max(ttl, lockLives) or ttl
if lives + 0 < life + 0 then
  -- The ticket of a holder that dies must not block the name for longer than its key does.
  call('ZADD', ends, 'XX', string.format('%.0f', nowMillis + lives), waiter)
end
call('SET', fence, T, 'PX', keeps)
forgetThem()
call('SET', lock, value, 'PX', lives)
return 'GRANT ' .. T
