#!/usr/bin/awk -f
# Puts a script of the extension together from files of sql/. They are SQL, but for what stands for many statements:
#
#   AGGREGATE dp_sum(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism]) RETURNS float8 SPACE 64;
#   UP TO eps IS 'a comment';
#   UP TO mech IS 'a comment';
#
# An argument in brackets can be left out, with all behind it: for each number of arguments there is an aggregate, with a
# transition function dp_mean.dp_sum_trans. All share the final function dp_mean.dp_sum_final. SPACE: the bytes that the planner
# takes a group to need. UP TO: the last argument of the aggregate that has this comment. Clauses that can follow:
#
#   TRANSITION dp_mean   a transition function by another name (dp_mean_trans); FINAL likewise
#   COST 50              what the planner takes a row to cost
#   EXACT                the answer has no noise: the final function is immutable
#
# Of contributions the functions have `_people` in their names. A function is made once, and not at all where it is written out
# before. `PHRASE name IS 'a text';` is for `{name}` in the texts behind it.
#
# Between the files: `replace=1`, of those that follow only the aggregates are made, in the place of those that are there;
# `replace=0`.

function fail(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what >"/dev/stderr"
	failed = 1
	exit 1
}

# What follows this word in a statement; without the word, `otherwise`.
function clause(word, otherwise,    i) {
	for (i = 1; i <= clauses; i++)
		if (of[i] == word) {
			taken += 2
			return of[i + 1]
		}
	return otherwise
}

function support(function_name, arguments, answer, properties) {
	if ((function_name, arguments) in made || function_name in written) return
	made[function_name, arguments] = 1
	printf "%s FUNCTION dp_mean.%s(state dp_mean.dp_state%s) RETURNS %s\n", create, function_name, arguments, answer
	printf "    AS 'MODULE_PATHNAME', '%s' LANGUAGE C %s PARALLEL SAFE;\n", function_name, properties
}

# Fails if an aggregate of the last statement has no comment.
function uncommented(    i) {
	for (i in upto) fail(name " has no comment up to " i)
}

function aggregate(statement,    from, to, people, count, i, optional, answer, space, trans, final, cost, exact, given) {
	from = index(statement, "(")
	to = index(statement, ") RETURNS ")
	if (!from || !to) fail("no arguments, or no RETURNS")
	uncommented()
	name = substr(statement, 1, from - 1)
	count = split(substr(statement, from + 1, to - from - 1), argument, ", ")
	people = statement ~ / dp_mean\.dp_contribution,/ ? "_people" : ""
	exact = sub(/ EXACT$/, "", statement)
	clauses = split(substr(statement, to + 2), of, " ")
	taken = 0
	answer = clause("RETURNS")
	space = clause("SPACE")
	trans = clause("TRANSITION", name) people "_trans"
	final = clause("FINAL", name) people "_final"
	cost = clause("COST", 1)
	if (taken != clauses || space !~ /^[0-9]+$/ || cost !~ /^[0-9]+$/) fail("what is this: " statement)
	support(final, "", answer, exact ? "IMMUTABLE" : "VOLATILE")
	for (i = 1; i <= count; i++) {
		optional = argument[i] ~ /^\[.*\]$/
		if (optional) argument[i] = substr(argument[i], 2, length(argument[i]) - 2)
		given = given (i > 1 ? ", " : "") argument[i]
		sub(/^VARIADIC /, "", argument[i])
		sub(/ .*/, "", argument[i])
		# Without the next one.
		if (i < count && argument[i + 1] !~ /^\[/) {
			if (optional) fail("an argument that must be given, behind one that can be left out")
			continue
		}
		upto[argument[i]] = given
		support(trans, ", " given, "dp_mean.dp_state", "IMMUTABLE COST " cost)
		printf "%s AGGREGATE %s(%s) (\n", create, name, given
		printf "    SFUNC = dp_mean.%s, STYPE = dp_mean.dp_state, SSPACE = %s,\n", trans, space
		printf "    FINALFUNC = dp_mean.%s, FINALFUNC_MODIFY = SHAREABLE,\n", final
		printf "    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''\n);\n"
	}
}

FNR == 1 {
	create = replace ? "CREATE OR REPLACE" : "CREATE"
	print ""
}

/'.*\{[a-z_]+\}/ {
	while (match($0, /\{[a-z_]+\}/)) {
		word = substr($0, RSTART + 1, RLENGTH - 2)
		if (!(word in phrases)) fail("no phrase " word)
		$0 = substr($0, 1, RSTART - 1) phrases[word] substr($0, RSTART + RLENGTH)
	}
}

/^PHRASE / {
	phrase = $2
	if (phrase in phrases) fail("the phrase " phrase " is there twice")
	phrases[phrase] = ""
}

phrase != "" {
	end = /;$/
	if (match($0, /'.*'/)) phrases[phrase] = phrases[phrase] substr($0, RSTART + 1, RLENGTH - 2)
	if (end) phrase = ""
	next
}

/^AGGREGATE / || statement != "" {
	line = $0
	sub(/^ +/, "", line)
	# A line that ends within the parentheses ends with a comma or a parenthesis.
	statement = statement (statement == "" || statement ~ /\($/ || line ~ /^\)/ ? "" : " ") line
	if (line !~ /;$/) next
	aggregate(substr(statement, 11, length(statement) - 11))
	statement = ""
	next
}

/^UP TO / {
	last = $3
	if (!(last in upto)) fail("no aggregate ends with " last)
	$0 = "COMMENT ON AGGREGATE " name "(" upto[last] ")" substr($0, 7 + length(last))
	delete upto[last]
	comment = 1
}

/^CREATE FUNCTION dp_mean\./ {
	written[substr($3, 9, index($3, "(") - 9)] = 1
}

!replace || comment

/;$/ { comment = 0 }

END {
	if (failed) exit 1
	if (statement phrase != "") fail("a statement without an end")
	uncommented()
}
