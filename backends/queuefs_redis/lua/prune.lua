-- uses: once
-- ARGV: queue, then '*' for all or ids. Returns one letter for each of those that are shown: D or U (unknown).
if before then
  return before
end
local queue, ends = ARGV[4], key(ARGV[4], 'ends')
local settled, done = {}, {}
local first = surplus(queue, '0')
if ARGV[5] == '*' then
  done = redis.call('ZRANGE', ends, first, -1)
  settled[1] = string.rep('D', #done)
  redis.call('UNLINK', ends, key(queue, 'done'))
else
  for i = 5, #ARGV do
    local at = redis.call('ZRANK', ends, ARGV[i])
    settled[#settled + 1] = at and at >= first and 'D' or 'U'
    if settled[#settled] == 'D' then
      drop_records(queue, {ARGV[i]})
      done[#done + 1] = ARGV[i]
    end
  end
end
if #done == 0 then
  return known(queue) and '+' .. table.concat(settled) or '-noqueue'
end
tell(queue, 'prune', done)
return answer(table.concat(settled))
