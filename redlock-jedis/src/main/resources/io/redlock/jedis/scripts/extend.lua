-- Lengthens what one owner holds. A name that is free, and that nobody touched since, is locked
-- again: the node joins the lease. With several names: all or nothing.
-- KEYS: lock and fence of each name in turn; then the birth mark.
-- ARGV: owner, T, ttl (ms), retention (ms), skew (us), sent (us), birth ('' = no guard).
-- Says: EXTENDED T | JOINED T | NOT_HELD T
local owner, T, ttl, retention, skew, sent, birth = unpack(ARGV)
local last = #KEYS - 1
local token = tonumber(T)

local missing = {}
local joins = false
for i = 1, last, 2 do
  local holder = redis.call('GET', KEYS[i])
  local fence = redis.call('GET', KEYS[i + 1]) or '0'
  if not holder then
    if token <= tonumber(fence) then
      return 'NOT_HELD ' .. T
    end
    missing[i] = true
    joins = true
  elseif holder ~= owner then
    return 'NOT_HELD ' .. T
  end
end

if joins then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local sentAt = tonumber(sent)
  if token > now + skew or token >= 2 ^ 53
      or sentAt > now + skew or sentAt < now - ttl * 1000 - skew
      or (birth ~= '' and redis.call('GET', KEYS[#KEYS]) ~= birth) then
    return 'NOT_HELD ' .. T
  end
end

for i = 1, last, 2 do
  local keeps = redis.call('PTTL', KEYS[i + 1])
  if missing[i] then
    redis.call('SET', KEYS[i], owner, 'PX', ttl)
    redis.call('SET', KEYS[i + 1], T, 'PX', math.max(retention, keeps))
  else
    if redis.call('PTTL', KEYS[i]) < tonumber(ttl) then
      redis.call('PEXPIRE', KEYS[i], ttl)
    end
    if keeps < tonumber(retention) then
      redis.call('PEXPIRE', KEYS[i + 1], retention)
    end
  end
end
return (joins and 'JOINED ' or 'EXTENDED ') .. T
