-- Conversions between budgets.

CREATE FUNCTION dp_mu(eps float8, delta float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_mu_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mu(float8, float8) IS
    'The largest mu for which mu-Gaussian differential privacy is (eps, delta)-differential privacy, rounded down; '
    'noise of a Gaussian mechanism has standard deviation sensitivity / mu. '
    'eps >= 0 and finite, 0 < delta < 1: else 22023. '
    'Balle, Wang 2018, Theorem 8.';

CREATE FUNCTION dp_delta(eps float8, mu float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_delta_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_delta(float8, float8) IS
    'The smallest delta for which mu-Gaussian differential privacy is (eps, delta)-differential privacy, rounded up. '
    'eps >= 0 and mu > 0, finite: else 22023. '
    'Balle, Wang 2018, Theorem 8.';

CREATE FUNCTION dp_eps(delta float8, mu float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_eps_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_eps(float8, float8) IS
    'The smallest eps for which mu-Gaussian differential privacy is (eps, delta)-differential privacy, rounded up. '
    '0 < delta < 1, mu > 0 and finite: else 22023. '
    'Balle, Wang 2018, Theorem 8.';

CREATE FUNCTION dp_rho_of_mu(mu float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_rho_of_mu_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_rho_of_mu(float8) IS
    'The rho of zero-concentrated differential privacy that a Gaussian mechanism with this mu has: mu^2 / 2, rounded '
    'up. '
    'mu > 0 and finite: else 22023. '
    'Bun, Steinke 2016, Proposition 1.6.';

CREATE FUNCTION dp_mu_of_rho(rho float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_mu_of_rho_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mu_of_rho(float8) IS
    'The mu of a Gaussian mechanism with rho-zero-concentrated differential privacy: sqrt(2 rho), rounded down. '
    'rho > 0 and finite: else 22023. '
    'Bun, Steinke 2016, Proposition 1.6.';

CREATE FUNCTION dp_rdp_of_mu(mu float8, alpha float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_rdp_of_mu_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_rdp_of_mu(float8, float8) IS
    'The eps of Renyi differential privacy of order alpha that a Gaussian mechanism with this mu has: alpha mu^2 / 2, '
    'rounded up. '
    'mu > 0, alpha > 1, finite: else 22023. '
    'Mironov 2017, Corollary 3.';
