-- Deletes what one owner holds and buries its token, so that a grant or a join of this owner that
-- is executed later is refused. The counter is never lowered and never deleted.
-- Where nothing follows, the caller's ticket is taken back as well. Whoever is first in the queue of
-- a name that has become free is woken, unless it is the caller, who goes on by itself.
-- A token ahead of the node's clock is not buried, lest it shut the name off for as long; a grant
-- that comes later might be in time. So this is no acknowledgement, unless there was a key.
-- KEYS: lock, fence, queue and ends of each name in turn.
-- ARGV: owner, T, retention (ms), skew (us), '1' if nothing follows, the caller as a
-- waiter ('' = it is none).
-- Says: RELEASED T | NOT_HELD T | CLOCK T now
local call = redis.call
local owner, T = ARGV[1], ARGV[2]

local held = {}
local bury
for i = 1, #KEYS, 4 do
  if call('GET', KEYS[i]) == owner then
    held[#held + 1] = KEYS[i]
  end
  local fence = call('GET', KEYS[i + 1])
  if fence ~= T and T + 0 > (fence or 0) + 0 then
    bury = bury or {}
    bury[#bury + 1] = KEYS[i + 1]
  end
end

if held[1] then
  call('DEL', unpack(held))
end
local answer = (held[1] and 'RELEASED ' or 'NOT_HELD ') .. T
if bury then
  local token, retention, skew = T + 0, ARGV[3], ARGV[4]
  local time = call('TIME')
  if token < 2 ^ 53 and token <= time[1] * 1000000 + time[2] + skew then
    for _, fence in ipairs(bury) do
      call('SET', fence, T, 'PX', math.max(retention, call('PTTL', fence)))
    end
  elseif not held[1] then
    answer = 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
  end
end

-- Contained from here on: nothing that goes wrong with a queue may stand in the way of a release.
local nothingFollows = ARGV[5] == '1'
local queued
if held[1] or nothingFollows then
  for i = 1, #KEYS, 4 do
    if redis.pcall('EXISTS', KEYS[i + 2]) == 1 then
      queued = queued or {}
      queued[#queued + 1] = i
    end
  end
end
if not queued then
  return answer
end

local waiter = ARGV[6]

local function forget(waiter, queue, ends)
  call('ZREM', ends, waiter)
  return call('ZREM', queue, waiter)
end

local function leave(lock, queue, ends)
  local left = nothingFollows and waiter ~= '' and forget(waiter, queue, ends) == 1
  if not (left or held[1]) or call('EXISTS', lock) == 1 then
    return
  end
  local time = call('TIME')
  local nowMillis = time[1] * 1000 + math.floor(time[2] / 1000)
  local over = call('ZRANGEBYSCORE', ends, '-inf', string.format('(%.0f', nowMillis))
  for _, waiter in ipairs(over) do -- their tickets have run out
    forget(waiter, queue, ends)
  end
  local first = call('ZRANGE', queue, 0, 0)[1]
  if first and first ~= waiter then
    local client, number = string.match(first, '^(.*):(%d+)$')
    call('PUBLISH', 'redlock:wake:' .. client, number)
  end
end

for _, i in ipairs(queued) do
  pcall(leave, KEYS[i], KEYS[i + 2], KEYS[i + 3])
end
return answer
