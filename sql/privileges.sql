-- Privileges on what the extension calls by itself. Others have none, but where a type, a view or a rewritten query
-- calls it in the name of any role.

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA dp_mean FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    dp_mean.dp_mechanism_in(cstring),
    dp_mean.dp_mechanism_out(dp_mechanism),
    dp_mean.dp_mechanism_recv(internal),
    dp_mean.dp_mechanism_send(dp_mechanism),
    dp_mean.dp_mechanism_lt(dp_mechanism, dp_mechanism),
    dp_mean.dp_mechanism_le(dp_mechanism, dp_mechanism),
    dp_mean.dp_mechanism_eq(dp_mechanism, dp_mechanism),
    dp_mean.dp_mechanism_ne(dp_mechanism, dp_mechanism),
    dp_mean.dp_mechanism_ge(dp_mechanism, dp_mechanism),
    dp_mean.dp_mechanism_gt(dp_mechanism, dp_mechanism),
    dp_mean.dp_mechanism_cmp(dp_mechanism, dp_mechanism),
    dp_mean.dp_budget_sums(float8, float8, bigint, bigint, bigint, bigint, bigint, bigint, float8, text, float8,
        boolean),
    dp_mean.dp_budget_lasts(bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint),
    dp_mean.dp_deployment_budget(text, text, boolean),
    dp_mean.dp_lost_bounds(regclass),
    dp_mean.dp_counted(dp_mean.dp_contribution, bigint, bigint),
    dp_mean.dp_centred(dp_mean.dp_contribution, bigint, bigint),
    dp_mean.answer(dp_mean.block, "any"),
    dp_mean.total(oid, "any"),
    dp_mean.key("any", boolean, integer)
TO PUBLIC;
