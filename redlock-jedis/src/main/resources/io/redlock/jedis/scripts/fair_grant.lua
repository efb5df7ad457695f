-- Locks one name for the waiter who is first in its queue, and gives whoever asks a place there.
-- KEYS: lock, fence, queue (waiters by their tickets), ends (waiters by the last ms of their
-- tickets); then the birth mark.
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

local untilMillis = string.format('%.0f', nowMillis + life)

-- Where memory is short no ticket is left, nor anything else written before the lock. Nothing is
-- left either where it could not be given an end.
local function leaveTicket()
  if tonumber(life) == 0 then
    return
  end
  local left = redis.pcall('ZADD', ends, untilMillis, waiter)
  if type(left) == 'table' then
    return not string.find(left.err, 'OOM') and left
  end
  redis.call('ZADD', queue, ticket, waiter)
  local keep = math.max(life + 1000, redis.call('PTTL', queue))
  for _, key in ipairs({queue, ends}) do
    local expires = redis.pcall('PEXPIRE', key, keep)
    if type(expires) == 'table' then
      redis.call('DEL', queue, ends)
      return expires
    end
  end
end

local over -- waiters whose tickets have run out
local function findThem()
  over = redis.call('ZRANGEBYSCORE', ends, '-inf', string.format('(%.0f', nowMillis))
  for _, waiter in ipairs(over) do
    over[waiter] = true
  end
end

local function forgetThem()
  for _, waiter in ipairs(over) do
    redis.call('ZREM', queue, waiter)
    redis.call('ZREM', ends, waiter)
  end
end

local function first()
  for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, #over)) do
    if not over[waiter] then
      return waiter
    end
  end
end

local holder = redis.call('GET', lock)
local highest = redis.call('GET', fence) or '0'
local taken = holder and holder ~= owner
if not taken
    and (token < tonumber(highest) or (not holder and token == tonumber(highest))) then
  return 'STALE ' .. T .. ' ' .. highest
end
local refusal = leaveTicket()
if refusal then
  return refusal
end
findThem()
if taken then
  forgetThem()
  return 'TAKEN ' .. T .. ' ' .. string.format('%.0f', redis.call('PTTL', lock)) .. ' ' .. highest
end
local head = first()
if head and head ~= waiter and not holder then
  forgetThem()
  return 'WAIT ' .. T .. ' ' .. string.format('%.0f', redis.call('ZSCORE', ends, head) - nowMillis)
end

local lives = ttl
if holder then
  lives = math.max(ttl, redis.call('PTTL', lock))
end
redis.call('SET', lock, owner, 'PX', lives)
redis.call('SET', fence, T, 'PX', math.max(retention, redis.call('PTTL', fence)))
if tonumber(lives) < tonumber(life) then
  -- A holder that dies shall not block the name for longer than its key does.
  redis.call('ZADD', ends, 'XX', string.format('%.0f', nowMillis + lives), waiter)
end
forgetThem()
return 'GRANT ' .. T
