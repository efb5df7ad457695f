-- Sets isOwn if the value of a lock is that of this owner, at whatever token.
local isOwn = holder == value
if holder and not isOwn then
  local owner = string.sub(value, 1, -#T - 1) -- owner@
  isOwn = string.find(holder, owner, 1, true) == 1 and string.find(holder, '^%d+$', #owner + 1)
    or #holder < #owner and holder .. '@' == owner
end
