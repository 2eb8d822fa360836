-- uses: once
-- ARGV: queue, id.
if before then
  return before
end
local queue, id = ARGV[4], ARGV[5]
local s = read_stage(daemon, id)
if s.queue ~= queue then
  return known(queue) and '+' or '-noqueue'
end
drop_staged(daemon, id, s)
tell(queue, 'discard', {id})
return answer('')
