-- If a command fails from here on, the rest is still done; the first error is the answer.
local failure
local function try(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  answer.err = answer.err .. ' (' .. command .. ')' -- the server does not say which
  failure = failure or answer
end
