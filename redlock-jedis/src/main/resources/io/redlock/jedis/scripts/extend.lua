-- Lengthens what one owner holds. A name that is free, and that nobody touched since, is locked
-- again: the node joins the lease. With several names: all or nothing.
-- KEYS: lock and fence of each name in turn; then the birth mark.
-- ARGV: owner, T, ttl (ms), retention (ms), skew (us), sent (us), birth ('' = no guard).
-- Says: EXTENDED T | JOINED T | NOT_HELD T
local call = redis.call
local owner, T, ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local last = #KEYS - 1

local missing
for i = 1, last, 2 do
  local holder = call('GET', KEYS[i])
  local fence = call('GET', KEYS[i + 1])
  if not holder then
    if T + 0 <= (fence or 0) + 0 then
      return 'NOT_HELD ' .. T
    end
    missing = missing or {}
    missing[i] = true
  elseif holder ~= owner then
    return 'NOT_HELD ' .. T
  end
end

if missing then
  local token, skew, sent, birth = T + 0, ARGV[5], ARGV[6] + 0, ARGV[7]
  local time = call('TIME')
  local now = time[1] * 1000000 + time[2]
  if token > now + skew or token >= 2 ^ 53
      or sent > now + skew or sent < now - ttl * 1000 - skew
      or (birth ~= '' and call('GET', KEYS[#KEYS]) ~= birth) then
    return 'NOT_HELD ' .. T
  end
end

for i = 1, last, 2 do
  local keeps = call('PTTL', KEYS[i + 1])
  if missing and missing[i] then
    call('SET', KEYS[i], owner, 'PX', ttl)
    call('SET', KEYS[i + 1], T, 'PX', math.max(retention, keeps))
  else
    if call('PTTL', KEYS[i]) < ttl + 0 then
      call('PEXPIRE', KEYS[i], ttl)
    end
    if keeps < retention + 0 then
      call('PEXPIRE', KEYS[i + 1], retention)
    end
  end
end
return (missing and 'JOINED ' or 'EXTENDED ') .. T
