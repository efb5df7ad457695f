-- Leaves the caller a ticket, and answers if that fails or if the name is held. Sets over:
-- waiters whose tickets have expired, or end too late, because the clock was set back.
-- Q5
local over = call('ZRANGEBYSCORE', ends, '-inf', string.format('(%.0f', nowMillis))
local after = string.format('(%.0f', nowMillis + 20000)
for _, other in ipairs(call('ZRANGEBYSCORE', ends, after, '+inf')) do
  over[#over + 1] = other
end
for _, other in ipairs(over) do
  over[other] = true
end
local queueLives = life ~= '0' and call('PTTL', queue)

-- Leaves no ticket if memory is short, or if the ticket could not be given an end or be removed.
-- Q1
local function leaveTicket()
  if life == '0' then
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
    call('ZREM', ends, waiter)
    expires.err = expires.err .. ' (PEXPIRE)'
    return expires
  end
  call('ZREM', queue, waiter)
  call('ZADD', queue, ticket, waiter)
  call('PEXPIRE', queue, keep)
end

-- Q5
local function forgetThem()
  for _, other in ipairs(over) do
    if over[other] and waiter ~= '' then
      call('ZREM', queue, other)
      call('ZREM', ends, other)
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
