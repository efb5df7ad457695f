-- Locks one name for the waiter that is first in its queue, and gives each caller a ticket.
-- KEYS: lock, fence, queue (waiters by ticket), ends (waiters by the last ms of their tickets);
-- then the birth mark.
-- ARGV: value (owner@T), T, ttl (ms), retention (ms), skew (us), the highest counter that a node has
-- reported to the owner (0 = none), waiter, ticket (us), life of the ticket (ms, 0 = no ticket),
-- birth ('' = no guard).
-- Returns: what grant.lua returns | WAIT T, the rest of the first ticket's life (ms)
-- The lock is written last: a denied command leaves no lock behind, and leaves a ticket only if the
-- ticket can be removed.
local lock, fence, queue, ends, mark = unpack(KEYS)
local value, T, ttl, retention, skew, reported, waiter, ticket, life, birth = unpack(ARGV)

if birth ~= '' and string.find(redis.call('GET', mark) or '', birth, 1, true) ~= 1 then
  return 'ABSTAIN ' .. T
end

local token = tonumber(T)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- G1
if token > now + skew and token > reported + 1 or token > now + 2 ^ 45
    or token < now - ttl * 1000 - skew then
  return 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
end
local nowMillis = math.floor(now / 1000)
life = tonumber(life)

local holder = redis.call('GET', lock)
local highest = redis.call('GET', fence) or '0'
-- G6
if highest + 0 > now + 2 ^ 45 then
  return 'FAR ' .. T .. ' 1'
end
-- G2, G3, G4, G5
local isOwn = holder == value
if holder and not isOwn then
  local owner = string.sub(value, 1, -#T - 1) -- owner@
  isOwn = string.find(holder, owner, 1, true) == 1 and string.find(holder, '^%d+$', #owner + 1)
    or #holder < #owner and holder .. '@' == owner
end
local held = holder and not isOwn
if not held
    and (token < tonumber(highest) or (not holder and token == tonumber(highest))) then
  return 'STALE ' .. T .. ' ' .. highest
end

-- Waiters whose tickets have expired, or end too late, because the clock was set back.
-- Q5
local over = redis.call('ZRANGEBYSCORE', ends, '-inf', string.format('(%.0f', nowMillis))
local after = string.format('(%.0f', nowMillis + 20000)
for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', ends, after, '+inf')) do
  over[#over + 1] = waiter
end
for _, waiter in ipairs(over) do
  over[waiter] = true
end
local queueLives = redis.call('PTTL', queue)
local lockLives = redis.call('PTTL', lock)
local aheadMillis = math.max(0, math.ceil((token - now) / 1000)) -- the counter outlives it
local keeps = math.max(retention + aheadMillis, redis.call('PTTL', fence))

-- Leaves no ticket if memory is short, or if the ticket could not be given an end or be removed.
-- Q1
local function leaveTicket()
  if life == 0 then
    return
  end
  local left = redis.pcall('ZADD', ends, string.format('%.0f', nowMillis + life), waiter)
  if type(left) == 'table' then
    left.err = left.err .. ' (ZADD)' -- the server does not say which
    return not string.find(left.err, 'OOM') and left
  end
  over[waiter] = nil -- its ticket is valid again
  local keep = math.max(life + 1000, queueLives)
  local expires = redis.pcall('PEXPIRE', ends, keep)
  if type(expires) == 'table' then
    redis.call('ZREM', ends, waiter)
    expires.err = expires.err .. ' (PEXPIRE)'
    return expires
  end
  redis.call('ZREM', queue, waiter)
  redis.call('ZADD', queue, ticket, waiter)
  redis.call('PEXPIRE', queue, keep)
end

-- Q5
local function forgetThem()
  for _, waiter in ipairs(over) do
    if over[waiter] then
      redis.call('ZREM', queue, waiter)
      redis.call('ZREM', ends, waiter)
    end
  end
end

local function first()
  for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, #over)) do
    if not over[waiter] then
      return waiter
    end
  end
end

local refusal = leaveTicket()
if refusal then
  return refusal
end
if held then
  forgetThem()
  return 'HELD ' .. T .. ' ' .. string.format('%.0f', lockLives) .. ' '
    .. (string.match(string.sub(holder, 1, 192), '^[!-~]+$') or '-') .. ' ' .. highest
end
-- Q2
local head = not holder and first()
while head and head ~= waiter do
  local untilMillis = redis.call('ZSCORE', ends, head)
  if untilMillis then
    forgetThem()
    return 'WAIT ' .. T .. ' ' .. string.format('%.0f', untilMillis - nowMillis)
  end
  redis.call('ZREM', queue, head) -- the ends expired in the middle of this script
  head = first()
end

local lives = ttl
if holder then
  lives = math.max(ttl, lockLives)
end
if tonumber(lives) < life then
  -- The ticket of a holder that dies must not block the name for longer than its key does.
  redis.call('ZADD', ends, 'XX', string.format('%.0f', nowMillis + lives), waiter)
end
redis.call('SET', fence, T, 'PX', keeps)
forgetThem()
redis.call('SET', lock, value, 'PX', lives)
return 'GRANT ' .. T
