-- Leaves a queue if nothing follows, and wakes the first that waits for what has become free.
local function forget(waiter, queue, ends)
  call('ZREM', ends, waiter)
  return call('ZREM', queue, waiter)
end

-- Q3, Q6
local function leave(lock, queue, ends)
  local left = nothingFollows and waiter ~= '' and forget(waiter, queue, ends) == 1
  if not (left or freed) or redis.pcall('EXISTS', lock) == 1 then
    return
  end
  local time = call('TIME')
  local nowMillis = time[1] * 1000 + math.floor(time[2] / 1000)
  local over = call('ZRANGEBYSCORE', ends, '-inf', string.format('(%.0f', nowMillis))
  for _, waiter in ipairs(over) do -- their tickets have expired
    forget(waiter, queue, ends)
  end
  local after = string.format('(%.0f', nowMillis + 20000) -- Q5
  for _, waiter in ipairs(call('ZRANGEBYSCORE', ends, after, '+inf')) do
    forget(waiter, queue, ends)
  end
  local first = call('ZRANGE', queue, 0, 0)[1]
  if first and first ~= waiter then
    local client, number = string.match(first, '^(.*):(%d+)$')
    call('PUBLISH', 'redlock:wake:' .. client, number)
  end
end
