# off for two seconds in every ten
1 0
3 1
LOOPAFTER 7
