-- Conversions between budgets: zero-concentrated differential privacy.

CREATE FUNCTION dp_rho_of_eps(eps float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_rho_of_eps_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_rho_of_eps(float8) IS
    'The smallest rho of zero-concentrated differential privacy that every eps-differentially private mechanism has: '
    'eps * tanh(eps / 2), rounded up. '
    'The releases of some mechanisms cost less: see the column rho of the estimates. '
    'eps > 0 and finite: else 22023. '
    'The loss of a pure mechanism is that of randomised response: Kairouz, Oh, Viswanath 2015.';

CREATE FUNCTION dp_eps_of_rho(rho float8, delta float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_eps_of_rho_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_eps_of_rho(float8, float8) IS
    'An eps, at least 0, such that rho-zero-concentrated differential privacy is (eps, delta)-differential privacy, '
    'rounded up: what the rhos of many releases, added up, cost together. '
    'rho > 0 and finite, 0 < delta < 1: else 22023. '
    'Canonne, Kamath, Steinke 2020, section 2.3; of Gaussian mechanisms alone dp_eps says less.';
