(** Noise whose probability at [x] is [q^level x]: how far a move of the data can change it.

    Proven. If a move changes the level by at most [D], weights differ by at most a factor [q^D], at each point and
    over each finite set of outputs ([the_ratio_is_bounded], [outputs_are_private]). The level may be any norm: its
    own size is the most that a move changes it ([a_norm_is_a_level]). Instances: the two-sided geometric and
    discrete Laplace distributions (absolute value), noise on histograms (sum of absolute values), the K-norm of the
    cube (largest absolute value), the staircase, and the hourglass, whose level changes by exactly 1 for each row.

    The factor that makes weights into probabilities is the same for neighbours, as the noise does not look at the data:
    so the ratio of probabilities is that of weights. [q] is rational here, and e^-eps in the code.

    Model of: the laws of crates/dp_core/src/sampler/staircase.rs, crates/dp_core/src/sampler/hourglass.rs,
    crates/dp_core/src/sampler/max_norm.rs and crates/dp_core/src/sampler/discrete_laplace.rs;
    docs/proofs/mean-hourglass.md, sum-staircase.md, vector-knorm.md and histogram-geometric.md have the mechanisms.

    Tied to the code by: the vectors of levels at the end, which are computed here and compared with the levels that the
    code draws in crates/dp_core/tests/suite/machine_checked.rs::stairs_have_the_levels_of_the_model. *)

From Coq Require Import QArith Lqa ZArith Lia List Bool.
Import ListNotations.

(** ** Any noise of this form *)

Fixpoint power (q : Q) (n : nat) : Q := match n with O => 1 | S n => q * power q n end.

Section Levels.
Open Scope Q_scope.
Variable q : Q.
Hypotheses (q_positive : 0 < q) (q_most : q <= 1).

Lemma power_positive : forall n, 0 < power q n.
Proof. induction n as [|n IH]; cbn; [lra|]. nra. Qed.

Lemma power_add : forall m n, power q (m + n) == power q m * power q n.
Proof. induction m as [|m IH]; intros n; cbn; [ring|]. rewrite IH. ring. Qed.

Lemma power_falls : forall m n, (m <= n)%nat -> power q n <= power q m.
Proof.
  intros m n H. induction H as [|n H IH]; [lra|]. cbn. assert (P := power_positive n). nra.
Qed.

Variable point : Type.
Variable level : point -> nat.
Definition weight (x : point) : Q := power q (level x).

Theorem the_ratio_is_bounded : forall x y D, (level x <= level y + D)%nat -> power q D * weight y <= weight x.
Proof.
  intros x y D H. unfold weight. rewrite <- power_add. apply power_falls. lia.
Qed.

(** A finite set of outputs. [noise y] is the noise that makes the output [y] of a database's exact answer. *)
Fixpoint weigh (noise : point -> point) (outputs : list point) : Q :=
  match outputs with [] => 0 | y :: l => weight (noise y) + weigh noise l end.

Theorem outputs_are_private : forall (a b : point -> point) D outputs,
  (forall y, (level (a y) <= level (b y) + D)%nat) -> power q D * weigh b outputs <= weigh a outputs.
Proof.
  intros a b D outputs H. induction outputs as [|y l IH]; cbn [weigh]; [lra|].
  assert (R := the_ratio_is_bounded (a y) (b y) D (H y)). lra.
Qed.

End Levels.

Open Scope Z_scope.

(** ** Norms on vectors of integers *)

Definition vector := list Z.
Fixpoint add (x v : vector) : vector :=
  match x, v with a :: x, b :: v => (a + b) :: add x v | x, [] => x | [], v => v end.

Definition is_norm (norm : vector -> nat) : Prop := forall x v, (norm (add x v) <= norm x + norm v)%nat.

Theorem a_norm_is_a_level : forall q norm, (0 < q)%Q -> (q <= 1)%Q -> is_norm norm ->
  forall D x v, (norm v <= D)%nat -> (power q D * weight q vector norm x <= weight q vector norm (add x v))%Q.
Proof. intros q norm Hq Hq1 N D x v H. apply the_ratio_is_bounded; try assumption. specialize (N x v). lia. Qed.

Fixpoint sum_norm (x : vector) : nat := match x with [] => O | a :: x => (Z.abs_nat a + sum_norm x)%nat end.
Fixpoint max_norm (x : vector) : nat := match x with [] => O | a :: x => Nat.max (Z.abs_nat a) (max_norm x) end.

Theorem sum_norm_is_a_norm : is_norm sum_norm.
Proof.
  intros x. induction x as [|a x IH]; intros [|b v]; cbn [add sum_norm]; try lia. specialize (IH v). lia.
Qed.

Theorem max_norm_is_a_norm : is_norm max_norm.
Proof.
  intros x. induction x as [|a x IH]; intros [|b v]; cbn [add max_norm]; try lia. specialize (IH v). lia.
Qed.

(** A move of a row is in the cube, so of norm [G]: that is the K-norm mechanism with [q = exp (-eps / G)]. *)
Theorem a_row_in_the_cube : forall (G : nat) v, Forall (fun a => Z.abs a <= Z.of_nat G) v -> (max_norm v <= G)%nat.
Proof. intros G v H. induction H; cbn [max_norm]; lia. Qed.

(** ** The staircase: levels of width [G] around a core of [2 g - 1] integers *)

Section Staircase.
Variables G g : Z.
Hypotheses (core : 1 <= g) (core_most : g <= G).

Definition stair (x : Z) : Z := if Z.abs x <? g then 0 else (Z.abs x - g) / G + 1.
Definition signed_stair (x : Z) : Z := if x <? 0 then - stair x else stair x.

(** As the code has it: level [L >= 1] goes from [(L - 1) G + g] to below [L G + g]. *)
Theorem where_a_stair_is : forall x L, 1 <= L -> (stair x = L <-> (L - 1) * G + g <= Z.abs x < L * G + g).
Proof.
  intros x L H. unfold stair. destruct (Z.ltb_spec (Z.abs x) g) as [A|A]; [split; intros B; nia|].
  assert (D := Z_div_mod_eq_full (Z.abs x - g) G). assert (M := Z.mod_pos_bound (Z.abs x - g) G ltac:(lia)).
  set (d := (Z.abs x - g) / G) in *. split; intros B.
  - subst L. replace (d + 1 - 1) with d by lia. replace ((d + 1) * G) with (G * d + G) by ring.
    replace (d * G) with (G * d) by ring. lia.
  - assert (0 <= d) by (apply Z.div_pos; lia). nia.
Qed.

Lemma stair_not_negative : forall x, 0 <= stair x.
Proof.
  intros x. unfold stair. destruct (Z.ltb_spec (Z.abs x) g); [lia|].
    assert (0 <= (Z.abs x - g) / G) by (apply Z.div_pos; lia). lia.
Qed.

(** A move of at most [G] changes the level by at most 1. *)
Theorem a_move_is_a_stair : forall x v, Z.abs v <= G -> stair (x + v) <= stair x + 1.
Proof.
  intros x v H. unfold stair. destruct (Z.ltb_spec (Z.abs (x + v)) g) as [A|A], (Z.ltb_spec (Z.abs x) g) as [B|B].
  - lia.
  - assert (0 <= (Z.abs x - g) / G) by (apply Z.div_pos; lia). lia.
  - rewrite Z.div_small by lia. lia.
  - assert ((Z.abs (x + v) - g) / G <= (Z.abs x - g + 1 * G) / G) by (apply Z.div_le_mono; lia).
    rewrite Z.div_add in H0 by lia. lia.
Qed.

(** ** The hourglass: a row moves [(x, k)] by [(t, 1)], with [0 <= t <= G] *)

Definition hourglass (x k : Z) : Z := Z.abs (signed_stair x) + Z.abs (k - signed_stair x).

Lemma up : forall x y, 0 <= x <= y -> stair x <= stair y.
Proof.
  intros x y H. unfold stair. rewrite !Z.abs_eq by lia.
  destruct (Z.ltb_spec x g) as [A|A], (Z.ltb_spec y g) as [B|B]; try lia.
  - assert (0 <= (y - g) / G) by (apply Z.div_pos; lia). lia.
  - assert ((x - g) / G <= (y - g) / G) by (apply Z.div_le_mono; lia). lia.
Qed.

Lemma stair_negated : forall x, stair (- x) = stair x.
Proof. intros x. unfold stair. rewrite Z.abs_opp. reflexivity. Qed.

(** From [x] to [x + t] the signed level stays, goes up by 1, or goes from -1 to 1. *)
Lemma a_row_moves_the_stair : forall x t, 0 <= t <= G ->
  signed_stair (x + t) = signed_stair x \/ signed_stair (x + t) = signed_stair x + 1 \/
  (signed_stair x = -1 /\ signed_stair (x + t) = 1).
Proof.
  intros x t H. unfold signed_stair. destruct (Z.ltb_spec x 0) as [A|A], (Z.ltb_spec (x + t) 0) as [B|B]; try lia.
  - assert (U := up (- (x + t)) (- x) ltac:(lia)). rewrite !stair_negated in U.
    assert (S := a_move_is_a_stair (x + t) (- t) ltac:(lia)). replace (x + t + - t) with x in S by lia. lia.
  - (* Through 0: both are at most G from each other, and g on each side is no step. *)
    assert (Sx : stair x = 0 \/ stair x = 1).
    { unfold stair. destruct (Z.ltb_spec (Z.abs x) g); [left; reflexivity|right]. rewrite Z.div_small by lia. lia. }
    assert (Sy : stair (x + t) = 0 \/ stair (x + t) = 1).
    { unfold stair. destruct (Z.ltb_spec (Z.abs (x + t)) g); [left; reflexivity|right]. rewrite Z.div_small by lia.
      lia. }
    lia.
  - assert (U := up x (x + t) ltac:(lia)). assert (S := a_move_is_a_stair x t ltac:(lia)). lia.
Qed.

(** The level changes by exactly 1: the budget is neither overspent nor left unused. *)
Theorem a_row_moves_the_hourglass_by_one : forall x k t, 0 <= t <= G ->
  Z.abs (hourglass (x + t) (k + 1) - hourglass x k) = 1.
Proof.
  intros x k t H. unfold hourglass. destruct (a_row_moves_the_stair x t H) as [E|[E|[E F]]];
    [rewrite E..|rewrite E, F]; try lia.
Qed.

End Staircase.

(** Without a core a row may move the level by more: the code brings [g] into 1 to [G]. *)
Example without_a_core : hourglass 3 0 (-3 + 3) (0 + 1) - hourglass 3 0 (-3) 0 = -3.
Proof. reflexivity. Qed.

(** ** Vectors: steps, core, and the signed levels of -12 to 12 *)

Definition range : list Z := map (fun i => Z.of_nat i - 12) (seq 0 25).

Definition vectors : list (Z * Z * list Z) := [
  (* vector *) (1, 1, [-12; -11; -10; -9; -8; -7; -6; -5; -4; -3; -2; -1; 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; 10; 11; 12]);
  (* vector *) (3, 1, [-4; -4; -4; -3; -3; -3; -2; -2; -2; -1; -1; -1; 0; 1; 1; 1; 2; 2; 2; 3; 3; 3; 4; 4; 4]);
  (* vector *) (3, 2, [-4; -4; -3; -3; -3; -2; -2; -2; -1; -1; -1; 0; 0; 0; 1; 1; 1; 2; 2; 2; 3; 3; 3; 4; 4]);
  (* vector *) (5, 5, [-2; -2; -2; -1; -1; -1; -1; -1; 0; 0; 0; 0; 0; 0; 0; 0; 0; 1; 1; 1; 1; 1; 2; 2; 2]) ].

Definition agrees (v : Z * Z * list Z) : bool :=
  let '(G, g, levels) := v in if list_eq_dec Z.eq_dec (map (signed_stair G g) range) levels then true else false.

Example vectors_agree : forallb agrees vectors = true.
Proof. vm_compute. reflexivity. Qed.
