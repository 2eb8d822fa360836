-- uses: once
-- ARGV: queue, lease, now, then ids. Returns one letter for each: D, S (stale) or U (unknown). What is paused or can't be
-- read is stale, what has outlived its time is as good as gone.
if before then
  return before
end
local queue, now = ARGV[4], clock(ARGV[6])
local until_, claimed = digits(now + ARGV[5]), digits(now)
local settled, done = {}, {}
for i = 7, #ARGV do
  local id = ARGV[i]
  local letter, m, held = standing(queue, id, '')
  if held then
    letter = 'S'
  elseif m and m.expires ~= '-' and tonumber(m.expires) <= now then
    letter = 'U'
  elseif m and m.flag ~= 'P' and take_out(queue, id, m) then
    begin_claim(queue, id, m, until_, claimed)
    done[#done + 1] = id
    letter = 'D'
  end
  settled[#settled + 1] = letter
end
if #done == 0 then
  return known(queue) and '+' .. table.concat(settled) or '-noqueue'
end
note('leases', queue, until_)
count(queue, 'dequeued', #done)
tell(queue, 'dequeue', done)
return answer(table.concat(settled))
