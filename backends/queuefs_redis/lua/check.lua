-- ARGV: queue, then id and claim for each. Of two references to one message, an ack would be the first's.
if not known(ARGV[1]) then
  return '-noqueue'
end
local settled, acked = {}, {}
for i = 2, #ARGV, 2 do
  local letter = acked[ARGV[i]] and 'U' or (standing(ARGV[1], ARGV[i], ARGV[i + 1]))
  acked[ARGV[i]] = letter == 'D' or acked[ARGV[i]]
  settled[#settled + 1] = letter
end
return '+' .. table.concat(settled)
