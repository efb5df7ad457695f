-- Locks every name for one owner, or none of them.
-- KEYS: lock and fence of each name in turn; then the birth mark.
-- ARGV: owner, T, ttl (ms), retention (ms), skew (us), birth ('' = no guard).
-- Says: GRANT T | TAKEN T pttl c | STALE T c | CLOCK T now | ABSTAIN T
-- Tokens stay strings: Lua would print them as 1.7e+15. They are compared as numbers.
local owner, T, ttl, retention, skew, birth = unpack(ARGV)
local last = #KEYS - 1

if birth ~= '' and redis.call('GET', KEYS[#KEYS]) ~= birth then
  return 'ABSTAIN ' .. T
end

local token = tonumber(T)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if token > now + skew or token >= 2 ^ 53 or token < now - ttl * 1000 - skew then
  return 'CLOCK ' .. T .. ' ' .. time[1] .. string.format('%06d', time[2])
end

local highest = '0'
local held = {}
local pttl
local stale = false
for i = 1, last, 2 do
  local holder = redis.call('GET', KEYS[i])
  local fence = redis.call('GET', KEYS[i + 1]) or '0'
  if tonumber(fence) > tonumber(highest) then
    highest = fence
  end
  if holder == owner then
    held[i] = true
    stale = stale or token < tonumber(fence)
  elseif holder then
    local left = redis.call('PTTL', KEYS[i])
    if not pttl or left == -1 or (pttl ~= -1 and left > pttl) then
      pttl = left
    end
  else
    stale = stale or token <= tonumber(fence)
  end
end
if pttl then
  return 'TAKEN ' .. T .. ' ' .. string.format('%.0f', pttl) .. ' ' .. highest
end
if stale then
  return 'STALE ' .. T .. ' ' .. highest
end

for i = 1, last, 2 do
  local lives = ttl
  if held[i] then
    lives = math.max(ttl, redis.call('PTTL', KEYS[i]))
  end
  redis.call('SET', KEYS[i], owner, 'PX', lives)
  redis.call('SET', KEYS[i + 1], T, 'PX', math.max(retention, redis.call('PTTL', KEYS[i + 1])))
end
return 'GRANT ' .. T
