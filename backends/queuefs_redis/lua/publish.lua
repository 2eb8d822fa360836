-- uses: once
-- ARGV: queue, id, now, window. Returns the id of the message to which it gave way, or its own.
if before then
  return before
end
local queue, id = ARGV[4], ARGV[5]
local s = read_stage(daemon, id)
if s.queue ~= queue then
  return known(queue) and '+' .. id or '-noqueue'
end
return answer(publish_staged(daemon, id, s, clock(ARGV[6]), tonumber(ARGV[7])))
