-- Returns how many messages are unacknowledged in all queues, and what the server says of its memory ('' if it won't).
local told = redis.pcall('INFO', 'memory')
return {'+' .. (redis.call('GET', P .. 'unacked') or '0'), type(told) == 'string' and told or ''}
