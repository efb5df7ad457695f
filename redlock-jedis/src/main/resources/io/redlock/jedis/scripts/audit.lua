-- What the node is, asked first on every new connection and once a second.
-- ARGV: a number that the answer repeats.
-- Says: {number, run_id, role, now (us)}
local time = redis.call('TIME')
return {
  ARGV[1],
  string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
  string.match(redis.call('INFO', 'replication'), 'role:(%a+)'),
  time[1] .. string.format('%06d', time[2]),
}
