-- Returns a value as answers print it.
local function word(text)
  if #text <= 192 and string.find(text, '^[!-~]+$') then
    return text
  end
  return 'sha1:' .. redis.sha1hex(string.sub(text, 1, 4096))
end
