-- ARGV: as for `page.lua`. Returns id and rank of each, in one text.
if not known(ARGV[1]) then
  return '-noqueue'
end
return '+' .. table.concat(page_of(ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6] == '1'), ' ')
