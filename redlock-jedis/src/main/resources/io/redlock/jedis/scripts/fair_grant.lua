-- Locks one name for the waiter who is first in its queue, and gives whoever asks a place there.
-- KEYS: lock, fence, queue (waiters in the order of their tickets), ends (of the tickets, in ms);
-- then the birth mark.
-- ARGV: owner, T, ttl (ms), retention (ms), skew (us), waiter, ticket (us), life of the ticket
-- (ms, 0 = leave none), birth ('' = no guard).
-- Says: what grant.lua says | WAIT T, how long the first ticket is good (ms)
local lock, fence, queue, ends, mark = unpack(KEYS)
local owner, T, ttl, retention, skew, waiter, ticket, life, birth = unpack(ARGV)

if birth ~= '' and redis.call('GET', mark) ~= birth then
  return 'ABSTAIN ' .. T
end

local token = tonumber(T)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if token > now + skew or token >= 2 ^ 53 or token < now - ttl * 1000 - skew then
  return 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
end
local nowMillis = math.floor(now / 1000)

-- Where memory is short no ticket is left, nor anything else written before the lock.
local function leaveTicket()
  if tonumber(life) > 0 and type(redis.pcall('ZADD', queue, ticket, waiter)) == 'number' then
    redis.call('HSET', ends, waiter, string.format('%.0f', nowMillis + life))
    local keep = math.max(life + 1000, redis.call('PTTL', queue))
    redis.call('PEXPIRE', queue, keep)
    redis.call('PEXPIRE', ends, keep)
  end
end

local over = {} -- waiters before the first whose tickets have run out
local function first()
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  while head and tonumber(redis.call('HGET', ends, head) or 0) < nowMillis do
    over[#over + 1] = head
    head = redis.call('ZRANGE', queue, #over, #over)[1]
  end
  return head
end

local function forgetThem()
  for _, waiter in ipairs(over) do
    redis.call('ZREM', queue, waiter)
    redis.call('HDEL', ends, waiter)
  end
end

local holder = redis.call('GET', lock)
local highest = redis.call('GET', fence) or '0'
if holder and holder ~= owner then
  leaveTicket()
  return 'TAKEN ' .. T .. ' ' .. string.format('%.0f', redis.call('PTTL', lock)) .. ' ' .. highest
end
if token < tonumber(highest) or (not holder and token == tonumber(highest)) then
  return 'STALE ' .. T .. ' ' .. highest
end
leaveTicket()
local head = first()
if head and head ~= waiter and not holder then
  forgetThem()
  return 'WAIT ' .. T .. ' ' .. string.format('%.0f', redis.call('HGET', ends, head) - nowMillis)
end

local lives = ttl
if holder then
  lives = math.max(ttl, redis.call('PTTL', lock))
end
redis.call('SET', lock, owner, 'PX', lives)
redis.call('SET', fence, T, 'PX', math.max(retention, redis.call('PTTL', fence)))
forgetThem()
return 'GRANT ' .. T
