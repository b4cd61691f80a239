//! Eigenvalues of small symmetric matrices.

/// Eigenvalues of a symmetric matrix of `n` rows, each with its vector of length 1, in no order.
///
/// By rotations that each make one number beside the diagonal 0 (Jacobi 1846). They come near enough in a few sweeps;
/// after 50 what is there is handed out, so that nothing turns for ever, whatever the numbers are.
pub fn eigen(mut a: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let n = a.len();
    let unit = |i| Vec::from_iter((0..n).map(move |j| f64::from(u8::from(i == j))));
    // Its rows are the vectors.
    let mut vectors = Vec::from_iter((0..n).map(unit));
    for _ in 0..50 {
        let beside = |i: usize| a[i].iter().skip(i + 1).map(|x| x * x).sum::<f64>();
        let off: f64 = (0..n).map(beside).sum();
        let whole: f64 = (0..n).map(|i| a[i][i] * a[i][i]).sum();
        if off <= whole * 1e-30 || off == 0.0 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                rotate(&mut a, p, q, [c, s]);
                rotate(&mut vectors, p, q, [c, s]);
            }
        }
    }
    let value = |(i, vector): (usize, _)| (a[i][i], vector);
    vectors.into_iter().enumerate().map(value).collect()
}

/// Turns two rows, `p` before `q`.
fn rotate(rows: &mut [Vec<f64>], p: usize, q: usize, [c, s]: [f64; 2]) {
    let (before, from) = rows.split_at_mut(q);
    for (x, y) in before[p].iter_mut().zip(&mut from[0]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_what_its_vectors_make() {
        for n in 1..=17 {
            let at = |i: usize, j: usize| {
                let (i, j) = (i.min(j), i.max(j));
                ((i * 7 + j * 13) as f64).sin() + f64::from(u8::from(i == j)) * 2.0
            };
            let matrix: Vec<Vec<f64>> =
                (0..n).map(|i| (0..n).map(|j| at(i, j)).collect()).collect();
            let pairs = eigen(matrix.clone());
            for i in 0..n {
                for j in 0..n {
                    let made: f64 = pairs.iter().map(|(l, v)| l * v[i] * v[j]).sum();
                    assert!((made - matrix[i][j]).abs() < 1e-12, "{n}: {made}");
                    let inner: f64 = pairs[i].1.iter().zip(&pairs[j].1).map(|(x, y)| x * y).sum();
                    let expected = f64::from(u8::from(i == j));
                    assert!((inner - expected).abs() < 1e-12, "{n}: {inner}");
                }
            }
        }
    }

    #[test]
    fn any_numbers_end() {
        assert_eq!(eigen(vec![vec![0.0; 3]; 3]).len(), 3);
        assert_eq!(eigen(vec![vec![f64::NAN; 3]; 3]).len(), 3);
        assert_eq!(eigen(vec![vec![f64::INFINITY; 2]; 2]).len(), 2);
        assert!(eigen(Vec::new()).is_empty());
    }
}
