-- Deletes what one owner holds and buries its token, so that a grant or a join of this owner that
-- is executed later is refused. The counter is never lowered and never deleted.
-- KEYS: lock and fence of each name in turn.
-- ARGV: owner, T, retention (ms), skew (us).
-- Says: RELEASED T | NOT_HELD T
local owner, T, retention, skew = unpack(ARGV)
local token = tonumber(T)
local time = redis.call('TIME')
local credible = token < 2 ^ 53 and token <= time[1] * 1000000 + time[2] + skew

local held = {}
local bury = {}
local any = false
for i = 1, #KEYS, 2 do
  held[i] = redis.call('GET', KEYS[i]) == owner
  any = any or held[i]
  bury[i] = credible and token > tonumber(redis.call('GET', KEYS[i + 1]) or '0')
end

for i = 1, #KEYS, 2 do
  if held[i] then
    redis.call('DEL', KEYS[i])
  end
end
for i = 1, #KEYS, 2 do
  if bury[i] then
    redis.call('SET', KEYS[i + 1], T, 'PX', math.max(retention, redis.call('PTTL', KEYS[i + 1])))
  end
end
return (any and 'RELEASED ' or 'NOT_HELD ') .. T
