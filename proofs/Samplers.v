(** The laws of the samplers, as weights: what rejection leaves of each value.

    Proven. As identities of natural numbers and of finite sums of powers of a rational [q], for every size:
    - geometric: [1 - q] times the sum of [q^k] for [k < n] is [1 - q^n] ([geometric_series]);
    - discrete Laplace: a magnitude with weight [q^m] and a fair sign, without minus zero, give each [x] the weight
      [q^|x|], 0 too ([discrete_laplace_law]);
    - K-norm: [D + 1] geometric numbers add up to [R] in [C(R + D, D)] ways ([ways_are_binomials]); the coins make of
      that [(2R + 1)^D] up to a factor that does not depend on [R] ([the_coins_make_a_cube]), which is how many points
      the cube of radius [R] has ([points_of_a_cube]); and all cubes that hold a point give it, cut off at radius [M],
      the weight [(q^m - q^(M + 1)) / (1 - q)] where [m] is its largest absolute value ([the_law_of_a_point]);
    - staircase: level 0 has [2 g - 1] integers, each other one [2 G] ([integers_of_a_level]).

    Not proven: limits of these sums, and that a draw of [Floor] has the weight [q^k] with [q = e^-eps], which is about
    reals.

    Model of: geometric.rs, discrete_laplace.rs, max_norm.rs and staircase.rs in crates/dp_core/src/sampler/;
    docs/proofs/samplers.md.

    Tied to the code by: crates/dp_core/tests/suite/tapes.rs (geometrics, discrete_laplaces, cubes, staircases), which
    runs the code on all short tapes of bits and compares with these laws. *)

From Coq Require Import QArith Lqa ZArith Lia Arith List.
Import ListNotations.
From DpMean Require Import Noise.

(** ** Geometric *)

Section Series.
Open Scope Q_scope.
Variable q : Q.

(** The sum of [q^k] for [n] values of [k] from [m] on. *)
Fixpoint series (m n : nat) : Q := match n with O => 0 | S n => power q m + series (S m) n end.

Theorem series_from : forall n m, (1 - q) * series m n == power q m - power q (m + n).
Proof.
  induction n as [|n IH]; intros m; cbn [series].
  - rewrite Nat.add_0_r. ring.
  - rewrite Qmult_plus_distr_r, IH. replace (m + S n)%nat with (S m + n)%nat by lia. cbn [power]. ring.
Qed.

Theorem geometric_series : forall n, (1 - q) * series 0 n == 1 - power q n.
Proof. intros n. rewrite series_from. cbn. reflexivity. Qed.

(** ** Discrete Laplace: magnitudes below [n], each with both signs *)

Fixpoint all_below (n : nat) : list nat := match n with O => [] | S n => n :: all_below n end.

Definition draws (n : nat) : list (nat * bool) := flat_map (fun m => [(m, false); (m, true)]) (all_below n).

(** What the loop does with a draw: minus zero is drawn again. *)
Definition value (draw : nat * bool) : option Z :=
  match draw with
  | (m, false) => Some (Z.of_nat m)
  | (O, true) => None
  | (m, true) => Some (- Z.of_nat m)%Z
  end.

Definition gives (x : Z) (draw : nat * bool) : bool := match value draw with Some y => (x =? y)%Z | None => false end.

Fixpoint weigh_draws (x : Z) (l : list (nat * bool)) : Q :=
  match l with [] => 0 | d :: l => (if gives x d then power q (fst d) else 0) + weigh_draws x l end.

Theorem discrete_laplace_law : forall n x,
  weigh_draws x (draws n) == if (Z.abs_nat x <? n)%nat then power q (Z.abs_nat x) else 0.
Proof.
  intros n x. induction n as [|n IH]; [reflexivity|].
  change (draws (S n)) with ((n, false) :: (n, true) :: draws n). cbn [weigh_draws fst]. rewrite IH.
  unfold gives, value.
  destruct (Nat.ltb_spec (Z.abs_nat x) n) as [A|A], (Nat.ltb_spec (Z.abs_nat x) (S n)) as [B|B]; try lia;
    try (assert (H : Z.abs_nat x = n) by lia; rewrite H); destruct n as [|n]; cbv beta iota;
    repeat match goal with |- context [(?a =? ?b)%Z] => destruct (Z.eqb_spec a b) end; try lia; cbn [power]; ring.
Qed.

End Series.

(** ** K-norm *)

Open Scope nat_scope.

Fixpoint choose (n k : nat) : nat :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S n, S k => choose n k + choose n (S k)
  end.

(** How many lists of [d] natural numbers add up to [r]. *)
Fixpoint lists (d r : nat) : list (list nat) :=
  match d with
  | O => match r with O => [[]] | S _ => [] end
  | S d => flat_map (fun a => map (cons a) (lists d (r - a))) (seq 0 (S r))
  end.
Definition ways (d r : nat) : nat := length (lists d r).

Lemma in_lists : forall d r l, In l (lists d r) <-> length l = d /\ list_sum l = r.
Proof.
  induction d as [|d IH]; intros r l; cbn [lists].
  - destruct r; cbn; split; intros H.
    + destruct H as [<-|[]]. split; reflexivity.
    + destruct l; [left; reflexivity|]. cbn in H. lia.
    + contradiction.
    + destruct l; cbn in H; lia.
  - rewrite in_flat_map. split.
    + intros (a & A & H). apply in_seq in A. apply in_map_iff in H. destruct H as (m & <- & M). apply IH in M.
      unfold list_sum in *. cbn. lia.
    + intros (L & S). unfold list_sum in *. destruct l as [|a l]; [discriminate|]. cbn in L, S. exists a.
      split; [apply in_seq; lia|].
      apply in_map, IH. unfold list_sum. lia.
Qed.

(** The sum of [f a] for [a] from 0 to [r]. *)
Fixpoint upto (f : nat -> nat) (r : nat) : nat := match r with O => f 0 | S r => f (S r) + upto f r end.

Lemma upto_ext : forall f g r, (forall a, a <= r -> f a = g a) -> upto f r = upto g r.
Proof. intros f g r. induction r as [|r IH]; intros H; cbn; rewrite H by lia; [reflexivity|].
  rewrite IH; [reflexivity|]. intros. apply H. lia. Qed.

Lemma upto_first : forall f r, upto f (S r) = upto (fun a => f (S a)) r + f 0.
Proof. intros f r. induction r as [|r IH]; cbn in *; [lia|]. rewrite IH. lia. Qed.

Lemma upto_reverse : forall f r, upto (fun a => f (r - a)) r = upto f r.
Proof.
  intros f r. revert f. induction r as [|r IH]; intros f; [reflexivity|].
  rewrite upto_first. cbn [upto Nat.sub]. rewrite (IH f). lia.
Qed.

Lemma length_of_sum : forall (f : nat -> list (list nat)) r, length (flat_map f (seq 0 (S r))) = upto (fun a =>
  length (f a)) r.
Proof.
  intros f r. induction r as [|r IH]; [cbn; rewrite app_nil_r; reflexivity|].
  rewrite seq_S, flat_map_app, app_length, IH. cbn. rewrite app_nil_r. lia.
Qed.

Lemma ways_by_first : forall d r, ways (S d) r = upto (ways d) r.
Proof.
  intros d r. unfold ways at 1. cbn [lists]. rewrite length_of_sum.
  rewrite <- (upto_reverse (ways d)). apply upto_ext. intros a _. rewrite map_length. reflexivity.
Qed.

Lemma choose_0 : forall n, choose n 0 = 1.
Proof. destruct n; reflexivity. Qed.

Lemma choose_above : forall n k, n < k -> choose n k = 0.
Proof. induction n as [|n IH]; intros [|k] H; cbn; try lia. rewrite !IH by lia. reflexivity. Qed.

Lemma hockey_stick : forall d r, upto (fun a => choose (a + d) d) r = choose (r + S d) (S d).
Proof.
  intros d r. induction r as [|r IH]; cbn [upto].
  - cbn [Nat.add choose]. rewrite (choose_above d (S d)) by lia. lia.
  - rewrite IH. replace (S r + S d) with (S (S r + d)) by lia. cbn [choose].
    replace (r + S d) with (S r + d) by lia. reflexivity.
Qed.

Theorem ways_are_binomials : forall d r, ways (S d) r = choose (r + d) d.
Proof.
  induction d as [|d IH]; intros r.
  - rewrite ways_by_first, choose_0. clear. induction r as [|r IH]; [reflexivity|]. cbn [upto]. rewrite IH. reflexivity.
  - rewrite ways_by_first, <- hockey_stick. apply upto_ext. intros a _. apply IH.
Qed.

(** The product of [f k] for [k] from 1 to [d]. *)
Fixpoint product (f : nat -> nat) (d : nat) : nat := match d with O => 1 | S d => f (S d) * product f d end.

Lemma choose_step : forall n k, S k * choose (S n) (S k) = S n * choose n k.
Proof.
  induction n as [|n IH]; intros k.
  - destruct k; cbn; [reflexivity|]. lia.
  - destruct k as [|k].
    + cbn [choose]. rewrite choose_0. specialize (IH 0). rewrite choose_0 in IH. cbn [choose] in IH |- *.
      rewrite choose_0 in IH. nia.
    + change (choose (S (S n)) (S (S k))) with (choose (S n) (S k) + choose (S n) (S (S k))).
      assert (A := IH (S k)). assert (B := IH k).
      change (choose (S n) (S k)) with (choose n k + choose n (S k)) in *. nia.
Qed.

Lemma choose_is_a_product : forall d r, choose (r + d) d * product (fun k => k) d = product (fun k => r + k) d.
Proof.
  induction d as [|d IH]; intros r; [cbn; rewrite choose_0; reflexivity|].
  cbn [product]. rewrite <- IH. replace (r + S d) with (S (r + d)) by lia.
  assert (S := choose_step (r + d) d). nia.
Qed.

Lemma product_times : forall c f d, product (fun k => c * f k) d = c ^ d * product f d.
Proof. intros c f d. induction d as [|d IH]; cbn [product Nat.pow]; [reflexivity|]. rewrite IH. nia. Qed.

(** The coin [k] comes up with probability [(2R + 1) / (2R + 2k)]. The weight [C(R + D, D)] times all of them is
    [(2R + 1)^D] over [2^D D!], written here without quotients. *)
Theorem the_coins_make_a_cube : forall d r,
  choose (r + d) d * (2 * r + 1) ^ d * (2 ^ d * product (fun k => k) d) = (2 * r + 1) ^ d * product (fun k => 2 * r +
    2 * k) d.
Proof.
  intros d r. assert (P := product_times 2 (fun k => r + k) d).
  assert (E : product (fun k => 2 * r + 2 * k) d = product (fun k => 2 * (r + k)) d).
  { clear. induction d as [|d IH]; [reflexivity|]. cbn [product]. rewrite IH. f_equal. lia. }
  rewrite E, P, <- choose_is_a_product. ring.
Qed.

(** No coin is above 1. *)
Theorem coins_are_probabilities : forall r k, 1 <= k -> 0 < 2 * r + 1 <= 2 * r + 2 * k.
Proof. lia. Qed.

(** The cube of radius [r], as [uniform::below_wide (2 r + 1) - r] for each of [d] coordinates. *)
Definition side (r : nat) : list Z := map (fun i => (Z.of_nat i - Z.of_nat r)%Z) (seq 0 (2 * r + 1)).
Fixpoint cube (d r : nat) : list vector :=
  match d with O => [[]] | S d => flat_map (fun a => map (cons a) (cube d r)) (side r) end.

Lemma length_side : forall r, length (side r) = 2 * r + 1.
Proof. intros. unfold side. rewrite map_length, seq_length. reflexivity. Qed.

Lemma in_side : forall r a, In a (side r) <-> Z.abs_nat a <= r.
Proof.
  intros r a. unfold side. rewrite in_map_iff. split.
  - intros (i & <- & I). apply in_seq in I. lia.
  - intros H. exists (Z.to_nat (a + Z.of_nat r)). split; [lia|]. apply in_seq. lia.
Qed.

Theorem points_of_a_cube : forall d r, length (cube d r) = (2 * r + 1) ^ d.
Proof.
  intros d r. induction d as [|d IH]; [reflexivity|]. cbn [cube Nat.pow]. rewrite <- IH, <- (length_side r). clear.
  generalize (side r). intros l. induction l as [|a l IH]; [reflexivity|]. cbn [flat_map length Nat.mul].
    rewrite app_length, map_length. f_equal. exact IH.
Qed.

Theorem in_a_cube : forall d r x, In x (cube d r) <-> length x = d /\ max_norm x <= r.
Proof.
  induction d as [|d IH]; intros r x; cbn [cube].
  - split; [intros [<-|[]]; cbn; lia|]. destruct x; cbn; [left; reflexivity|]. intros (L & _). discriminate.
  - rewrite in_flat_map. split.
    + intros (a & A & H). apply in_side in A. apply in_map_iff in H. destruct H as (y & <- & Y). apply IH in Y.
      cbn [length max_norm]. lia.
    + destruct x as [|a x]; [intros (L & _); discriminate|]. cbn [length max_norm]. intros (L & M).
      exists a. split; [apply in_side; lia|]. apply in_map, IH. lia.
Qed.

(** A radius has the weight [q^R (2R + 1)^D], so each of its points [q^R]: of all radii below [n] that hold [x], in
    all. *)
Fixpoint weight_of_point (q : Q) (x : vector) (n : nat) : Q :=
  match n with
  | O => 0
  | S r => ((if max_norm x <=? r then power q r else 0) + weight_of_point q x r)%Q
  end.

Theorem the_law_of_a_point : forall q x n, max_norm x <= n ->
  ((1 - q) * weight_of_point q x n == power q (max_norm x) - power q n)%Q.
Proof.
  intros q x n H. induction H as [|n H IH].
  - assert (Z : forall n, n <= max_norm x -> (weight_of_point q x n == 0)%Q).
    { induction n as [|n IH]; intros L; cbn [weight_of_point]; [reflexivity|]. rewrite IH by lia.
      destruct (Nat.leb_spec (max_norm x) n); [lia|]. reflexivity. }
    rewrite Z by lia. ring.
  - cbn [weight_of_point]. destruct (Nat.leb_spec (max_norm x) n); [|lia]. rewrite Qmult_plus_distr_r, IH.
    cbn [power]. ring.
Qed.

(** ** Staircase: how many integers a level has *)

Open Scope Z_scope.

(** As the code draws them: a place below [2 G], whose last bit is the sign. *)
Definition drawn (G g L : Z) (place : Z) : Z :=
  let v := (L - 1) * G + g + place / 2 in if place mod 2 =? 1 then - v else v.

Theorem integers_of_a_level : forall G g L x, 1 <= g <= G -> 1 <= L ->
  (stair G g x = L <-> exists place, 0 <= place < 2 * G /\ drawn G g L place = x).
Proof.
  intros G g L x Hg HL. rewrite where_a_stair_is by lia. unfold drawn. split.
  - intros H. set (p := Z.abs x - ((L - 1) * G + g)). assert (0 <= p < G) by (unfold p; nia).
    destruct (Z.ltb_spec x 0) as [N|N].
    + exists (2 * p + 1). split; [lia|]. replace (2 * p + 1) with (1 + p * 2) by ring.
      rewrite Z.div_add, Z.mod_add by lia. cbn. unfold p. lia.
    + exists (p * 2). split; [lia|]. rewrite Z.div_mul, Z.mod_mul by lia. cbn. unfold p. lia.
  - intros (place & P & <-). assert (D := Z_div_mod_eq_full place 2). assert (M := Z.mod_pos_bound place 2 ltac:(lia)).
    destruct (Z.eqb_spec (place mod 2) 1); nia.
Qed.

(** Each of them by one place. *)
Theorem a_place_of_its_own : forall G g L p p', 1 <= g <= G -> 1 <= L -> 0 <= p -> 0 <= p' ->
  drawn G g L p = drawn G g L p' -> p = p'.
Proof.
  intros G g L p p' Hg HL P P'. unfold drawn.
  assert (D := Z_div_mod_eq_full p 2). assert (M := Z.mod_pos_bound p 2 ltac:(lia)).
  assert (D' := Z_div_mod_eq_full p' 2). assert (M' := Z.mod_pos_bound p' 2 ltac:(lia)).
  assert (0 <= (L - 1) * G) by nia.
  destruct (Z.eqb_spec (p mod 2) 1), (Z.eqb_spec (p' mod 2) 1); lia.
Qed.
