-- Returns which of several names are held, and for how long. Writes nothing.
-- KEYS: the locks; then the birth mark.
-- ARGV: T, a number that the answer repeats; birth ('' = no guard).
-- Returns: LOCKS T pttl ... | UNMARKED T and the same, if the mark differs.
-- pttl is -1 if the key has no end, -2 if the name is free.
local call = redis.call
local T, birth = unpack(ARGV)
local names = #KEYS - 1

-- X2
local answer = 'LOCKS '
if birth ~= '' and string.find(call('GET', KEYS[names + 1]) or '', birth, 1, true) ~= 1 then
  answer = 'UNMARKED '
end
local words = { answer .. T }
-- X5
for i = 1, names do
  words[i + 1] = string.format('%.0f', call('PTTL', KEYS[i]))
end
return table.concat(words, ' ')
