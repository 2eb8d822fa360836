-- ARGV: queue. A queue's record is 'parent uid gid mode created name'.
local record = redis.call('HGET', P .. 'queues', ARGV[1])
if not record then
  return '-noqueue'
end
return '+' .. described(ARGV[1], record)
