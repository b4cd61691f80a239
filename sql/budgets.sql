-- Functions that set, charge and restore budgets.

CREATE FUNCTION dp_set_budget(
    name text, eps float8, delta float8, role regrole DEFAULT 0::oid, accounting text DEFAULT NULL,
    failures float8 DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_set_budget' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_set_budget(text, float8, float8, regrole, text, float8) IS
    'Makes a budget, which the current role then owns, or promises another limit of one that it owns: all that is '
    'spent from it is together (epsilon, delta)-differentially private. '
    'It is a part of the transaction. What was spent stays spent, whatever the limit. '
    'With a role, it is the limit of what that role spends, beside the limit of the budget. '
    'accounting says what is added up beside epsilon: gaussian, mu^2 of Gaussian differential privacy, with which '
    'protected tables answer with Gaussian noise; or zcdp, rho of zero-concentrated differential privacy. failures is '
    'the share of delta for choices of groups; the rest is for the noise. Both are fixed with the first limit of a '
    'budget: gaussian and 0.5 unless it says another. '
    'Superusers may call it, and who is granted EXECUTE. '
    'epsilon > 0 and at most 4096, 0 <= delta < 1, 0 <= failures <= 1, a name of 1 to 63 bytes: else 22023; another''s '
    'budget is 42501, a closed one or one with other terms 55000, a role that is not there, or whose budget is not, '
    '42704. '
    'Source: docs/proofs/budget.md.';
REVOKE EXECUTE ON FUNCTION dp_set_budget(text, float8, float8, regrole, text, float8) FROM PUBLIC;

CREATE FUNCTION dp_close_budget(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_close_budget' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_close_budget(text) IS
    'Ends a budget: nothing more is spent from it, and it is not opened again. '
    'A budget is never deleted: what was spent stays on record. '
    'A name of 1 to 63 bytes: else 22023; another''s budget is 42501, one that is closed already 55000, one that is '
    'not there 42704.';
REVOKE EXECUTE ON FUNCTION dp_close_budget(text) FROM PUBLIC;

CREATE FUNCTION dp_set_budget_owner(name text, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_set_budget_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_set_budget_owner(text, regrole) IS
    'Gives a budget to another role. It is a part of the transaction, and stays on record in dp_budget_history. A role '
    'that owns a budget is not dropped (2BP01). '
    'By its owner, who must be able to SET ROLE to the new one, or a superuser: else 42501. A name of 1 to 63 bytes: '
    'else 22023; a budget or role that is not there is 42704.';
REVOKE EXECUTE ON FUNCTION dp_set_budget_owner(text, regrole) FROM PUBLIC;

CREATE FUNCTION dp_continue_budget(name text, eps float8, delta float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_continue_budget' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_continue_budget(text, float8, float8) IS
    'Goes on with a budget on another server, timeline or database than it was charged at: after a promotion, a '
    'restore, pg_upgrade or a copy. Charges may be missing there, so none is taken (55000) until the owner says by '
    'this call how much may have been spent that is not in the ledger: (epsilon, delta), or 0 and 0. It is spent for '
    'good, past the limits if need be, on the account of the current role, and stays on record in dp_budget_history. '
    'epsilon >= 0, 0 <= delta < 1: else 22023; another''s budget is 42501, a closed one 55000, one that is not there '
    '42704.';
REVOKE EXECUTE ON FUNCTION dp_continue_budget(text, float8, float8) FROM PUBLIC;

CREATE FUNCTION dp_restore_budget(name text, eps float8, delta float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_restore_budget' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_restore_budget(text, float8, float8) IS
    'Says how much was spent of a budget in all, where a restored database does not know it: rows of the ledger were '
    'lost, or loaded twice, and each charge is refused (55000). It counts as at least what the ledger still knows, in '
    'its sums and its charges; the rest is charged to the current role, for good, with a row in dp_ledger. '
    'It is a part of the transaction; until that ends nothing is charged. '
    'epsilon >= 0, 0 <= delta < 1: else 22023; another''s budget is 42501, one that is not there 42704.';
REVOKE EXECUTE ON FUNCTION dp_restore_budget(text, float8, float8) FROM PUBLIC;

CREATE FUNCTION dp_restore_budget(name text, eps float8, delta float8, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_restore_budget' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_restore_budget(text, float8, float8, regrole) IS
    'As above, for what one role spent, as far as that counts against its own limit. Say it of roles first, and of '
    'all together then, which counts what was said of roles. Errors: 22023, 42501 and 42704 as above.';
REVOKE EXECUTE ON FUNCTION dp_restore_budget(text, float8, float8, regrole) FROM PUBLIC;

CREATE FUNCTION dp_charge(budget text, eps float8, delta float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_charge' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_charge(text, float8, float8) IS
    'Spends (epsilon, delta) from a budget that the current role owns, on its own account, for a program that stands '
    'between a user and a table. '
    'It is for good: on disk when the call returns, and no ROLLBACK, error or crash gives it back. '
    'epsilon counts as the aggregates count it: from 2^-20 to 50, rounded down to a multiple of 2^-40. '
    'Past a limit it is refused, and nothing is spent. '
    'epsilon > 0, 0 <= delta < 1: else 22023; past a limit 53400; another''s budget is 42501, a closed one or one '
    'whose limit this transaction has set 55000, one that is not there 42704; a locked ledger is 55P03 after 5 '
    'seconds, a standby 25006, a parallel plan 25000. '
    'Source: docs/proofs/budget.md.';
REVOKE EXECUTE ON FUNCTION dp_charge(text, float8, float8) FROM PUBLIC;

CREATE FUNCTION dp_charge(budget text, eps float8, delta float8, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_charge' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_charge(text, float8, float8, regrole) IS
    'The same, on the account of a role, and within its limit if it has one. '
    'Errors: 22023 and the others as above; a role that is not there is 42704.';
REVOKE EXECUTE ON FUNCTION dp_charge(text, float8, float8, regrole) FROM PUBLIC;
