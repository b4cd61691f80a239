(** Why a budget may allow by epsilons or by rhos, chosen by the answers: the step of docs/proofs/budget.md.

    Proven. Over finite trees of adaptive releases with rational probabilities: if every analyst within the rhos
    alone is (E, delta_B)-private, then so is every analyst within A or B ([a_or_b_costs_nothing]). With releases
    that may fail, of delta_s in all on each path, it is (E, delta_s + delta_B)-private, for every event
    ([the_whole_budget]).

    Not proven: the premise about the rhos alone (filters of zCDP and of Gaussian differential privacy), which is about
    real numbers. It is a premise of these theorems, and no axiom.

    Model of: the rule of [Limit::allows] in crates/dp_core/src/privacy/spending.rs.

    Tied to the code by: Budget.v, whose vectors the code computes too, and
    crates/dp_core/tests/suite/spending.rs::the_best_analyst_stays_within_the_limit, which asks the code's own rule. *)

From Coq Require Import QArith Lqa Lia List Bool.
Import ListNotations.
Open Scope Q_scope.

Fixpoint power (b : Q) (n : nat) : Q := match n with O => 1 | S n => b * power b n end.

(** The analyst's next release, or the end. A release has an epsilon, or none, in units of ln [b]; a rho; the
    probability [d] that it fails; and branches, one for each answer, which the neighbours give with probabilities [p]
    and [q]. *)
Inductive tree :=
| End
| Release (epsilon : option nat) (rho : nat) (d : Q) (answers : branches)
with branches :=
| No_more
| Answer (p q : Q) (next : tree) (others : branches).

Scheme tree_ind_2 := Induction for tree Sort Prop with branches_ind_2 := Induction for branches Sort Prop.
Combined Scheme tree_branches_ind from tree_ind_2, branches_ind_2.

Fixpoint laws (a : branches) : list (Q * Q) :=
  match a with No_more => [] | Answer p q _ a => (p, q) :: laws a end.

Section Rule.

Variable b : Q.
Hypothesis b_least : 1 <= b.
Variables (epsilon_limit rho_limit : nat) (delta_s delta_B : Q).
(** What a release of that rho may be: zCDP, or Gaussian differential privacy. *)
Variable noise : nat -> list (Q * Q) -> Prop.

Let E := power b epsilon_limit.

Definition positive (x : Q) : Q := if Qle_bool 0 x then x else 0.

(** The sum over all ends of what the probability [P] is above [E] times [Q]. *)
Fixpoint excess (t : tree) (P Q' : Q) : Q :=
  match t with End => positive (P - E * Q') | Release _ _ _ a => excess_of a P Q' end
with excess_of (a : branches) (P Q' : Q) : Q :=
  match a with No_more => 0 | Answer p q t a => excess t (P * p) (Q' * q) + excess_of a P Q' end.

(** What a cost says of a release. *)
Definition keeps (epsilon : option nat) (p q : Q) : Prop :=
  0 <= p /\ 0 <= q /\ match epsilon with Some n => p <= power b n * q | None => True end.

Fixpoint honest (t : tree) : Prop :=
  match t with
  | End => True
  | Release e r d a => 0 <= d /\ d <= 1 /\ noise r (laws a) /\ honest_of e a
  end
with honest_of (e : option nat) (a : branches) : Prop :=
  match a with No_more => True | Answer p q t a => keeps e p q /\ honest t /\ honest_of e a end.

Definition add (e f : option nat) : option nat :=
  match e, f with Some e, Some f => Some (e + f)%nat | _, _ => None end.
Definition within_epsilon (e : option nat) : Prop := match e with Some e => (e <= epsilon_limit)%nat | None => False
  end.

(** The rule: after each release A or B holds of the sums [e], [r] of all before it and it. *)
Fixpoint allowed (t : tree) (e : option nat) (r : nat) : Prop :=
  match t with
  | End => True
  | Release e' r' _ a =>
      (within_epsilon (add e e') \/ (r + r' <= rho_limit)%nat) /\ allowed_of a (add e e') (r + r')
  end
with allowed_of (a : branches) (e : option nat) (r : nat) : Prop :=
  match a with No_more => True | Answer _ _ t a => allowed t e r /\ allowed_of a e r end.

(** By the rhos alone. *)
Fixpoint within_rho (t : tree) (r : nat) : Prop :=
  match t with End => True | Release _ r' _ a => (r + r' <= rho_limit)%nat /\ within_rho_of a (r + r') end
with within_rho_of (a : branches) (r : nat) : Prop :=
  match a with No_more => True | Answer _ _ t a => within_rho t r /\ within_rho_of a r end.

(** The same analyst, cut off before the first release that would carry the rhos above their limit. *)
Fixpoint cut (t : tree) (r : nat) : tree :=
  match t with
  | End => End
  | Release e r' d a => if (r + r' <=? rho_limit)%nat then Release e r' d (cut_of a (r + r')) else End
  end
with cut_of (a : branches) (r : nat) : branches :=
  match a with No_more => No_more | Answer p q t a => Answer p q (cut t r) (cut_of a r) end.

Lemma positive_not_negative : forall x, 0 <= positive x.
Proof. intros x. unfold positive. destruct (Qle_bool 0 x) eqn:L; [apply Qle_bool_iff; exact L|lra]. Qed.

Lemma positive_above : forall x, x <= positive x.
Proof.
  intros x. unfold positive. destruct (Qle_bool 0 x) eqn:L; [lra|].
  destruct (Qlt_le_dec x 0) as [H|H]; [lra|]. apply Qle_bool_iff in H. congruence.
Qed.

Lemma positive_zero : forall x, x <= 0 -> positive x <= 0.
Proof. intros x H. unfold positive. destruct (Qle_bool 0 x); lra. Qed.

Lemma power_positive : forall n, 1 <= power b n.
Proof. induction n; cbn; [lra|nra]. Qed.

Lemma power_add : forall m n, power b (m + n) == power b m * power b n.
Proof. induction m; intros n; cbn; [ring|]. rewrite IHm. ring. Qed.

Lemma power_grows : forall m n, (m <= n)%nat -> power b m <= power b n.
Proof.
  intros m n H. replace n with (m + (n - m))%nat by lia. rewrite power_add.
  assert (1 <= power b m) by apply power_positive. assert (1 <= power b (n - m)) by apply power_positive. nra.
Qed.

Lemma times : forall x y z w, 0 <= x -> 0 <= z -> x <= y -> z <= w -> x * z <= y * w.
Proof. intros. nra. Qed.

(** Where the rhos are above their limit, A holds at all ends: nothing is above [E]. *)
Lemma nothing_above :
  (forall t e r P Q', (rho_limit < r)%nat -> (e <= epsilon_limit)%nat -> honest t -> allowed t (Some e) r ->
    0 <= P -> 0 <= Q' -> P <= power b e * Q' -> excess t P Q' <= 0) /\
  (forall a f e r P Q', (rho_limit < r)%nat -> (e + f <= epsilon_limit)%nat -> honest_of (Some f) a ->
    allowed_of a (Some (e + f)%nat) r -> 0 <= P -> 0 <= Q' -> P <= power b e * Q' -> excess_of a P Q' <= 0).
Proof.
  apply tree_branches_ind.
  - intros e r P Q' Hr He _ _ HP HQ H. cbn. apply positive_zero.
    assert (power b e <= E) by (apply power_grows; exact He). nra.
  - intros f r' d a IH e r P Q' Hr He (_ & _ & _ & Ho) (Hw & Ha) HP HQ H. cbn.
    destruct f as [f|]; cbn in *; [|destruct Hw; [contradiction|lia]].
    destruct Hw as [Hw|Hw]; [|lia]. apply (IH f e (r + r')%nat); try assumption; lia.
  - intros f e r P Q' Hr He _ _ HP HQ H. cbn. lra.
  - intros p q t IHt a IHa f e r P Q' Hr He ((Hp & Hq & Hpq) & Ht & Ho) (At & Aa) HP HQ H. cbn.
    assert (excess t (P * p) (Q' * q) <= 0).
    { apply (IHt (e + f)%nat r); try assumption; try (apply Qmult_le_0_compat; assumption).
      assert (L := times P (power b e * Q') p (power b f * q) HP Hp H Hpq). rewrite power_add.
      assert (R : power b e * Q' * (power b f * q) == power b e * power b f * (Q' * q)) by ring. rewrite R in L.
        exact L. }
    assert (excess_of a P Q' <= 0) by (apply (IHa f e r); assumption). lra.
Qed.

(** What each analyst is above [E], the one who is cut off is too. *)
Lemma cut_is_worse :
  (forall t e r P Q', honest t -> allowed t e r -> 0 <= P -> 0 <= Q' ->
    match e with Some n => P <= power b n * Q' | None => True end -> excess t P Q' <= excess (cut t r) P Q') /\
  (forall a f e r P Q', honest_of f a -> allowed_of a (add e f) r -> 0 <= P -> 0 <= Q' ->
    match e with Some n => P <= power b n * Q' | None => True end -> excess_of a P Q' <= excess_of (cut_of a r) P Q').
Proof.
  apply tree_branches_ind.
  - intros. cbn. lra.
  - intros f r' d a IH e r P Q' (D0 & D1 & Hn & Ho) (Hw & Ha) HP HQ H. cbn [cut].
    destruct (Nat.leb_spec (r + r') rho_limit) as [L|L].
    + cbn. apply (IH f e (r + r')%nat); assumption.
    + apply Qle_trans with 0; [|apply positive_not_negative].
      destruct Hw as [Hw|Hw]; [|lia]. destruct e as [e|], f as [f|]; try contradiction. cbn in *.
      apply (proj2 nothing_above a f e (r + r')%nat); assumption.
  - intros. cbn. lra.
  - intros p q t IHt a IHa f e r P Q' ((Hp & Hq & Hpq) & Ht & Ho) (At & Aa) HP HQ H. cbn.
    assert (excess t (P * p) (Q' * q) <= excess (cut t r) (P * p) (Q' * q)).
    { apply (IHt (add e f)); try assumption; try (apply Qmult_le_0_compat; assumption).
      destruct e as [e|], f as [f|]; cbn; try exact I.
      assert (L := times P (power b e * Q') p (power b f * q) HP Hp H Hpq). rewrite power_add.
      assert (R : power b e * Q' * (power b f * q) == power b e * power b f * (Q' * q)) by ring. rewrite R in L.
        exact L. }
    assert (excess_of a P Q' <= excess_of (cut_of a r) P Q') by (apply (IHa f e r); assumption). lra.
Qed.

Lemma cut_is_within : (forall t r, within_rho (cut t r) r) /\ (forall a r, within_rho_of (cut_of a r) r).
Proof.
  apply tree_branches_ind; cbn; try tauto.
  - intros e r' d a IH r. destruct (Nat.leb_spec (r + r') rho_limit) as [L|L]; cbn; [split; [exact L|apply IH]|exact I].
  - intros p q t IHt a IHa r. split; [apply IHt|apply IHa].
Qed.

Lemma cut_laws : forall a r, laws (cut_of a r) = laws a.
Proof. fix IH 1. intros [|p q t a] r; cbn; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma cut_is_honest : (forall t r, honest t -> honest (cut t r)) /\ (forall a f r,
  honest_of f a -> honest_of f (cut_of a r)).
Proof.
  apply tree_branches_ind; cbn; try tauto.
  - intros e r' d a IH r (D0 & D1 & Hn & Ho). destruct (r + r' <=? rho_limit)%nat; cbn; [|exact I].
    rewrite cut_laws. repeat split; try assumption. apply IH. exact Ho.
  - intros p q t IHt a IHa f r (Hk & Ht & Ha). repeat split; try apply Hk; [apply IHt|apply IHa]; assumption.
Qed.

(** The premise: what is within the rhos alone is (E, delta_B)-private. *)
Hypothesis rhos_alone : forall t, honest t -> within_rho t 0 -> excess t 1 1 <= delta_B.

Theorem a_or_b_costs_nothing : forall t, honest t -> allowed t (Some O) 0 -> excess t 1 1 <= delta_B.
Proof.
  intros t Ht Ha. apply Qle_trans with (excess (cut t 0) 1 1).
  - apply (proj1 cut_is_worse t (Some O)); try assumption; try lra. cbn. lra.
  - apply rhos_alone; [apply (proj1 cut_is_honest); exact Ht|apply (proj1 cut_is_within)].
Qed.

(** ** Failures *)

(** The probability of a failure, where one neighbour's answers are drawn. *)
Fixpoint failure (t : tree) : Q :=
  match t with End => 0 | Release _ _ d a => d + (1 - d) * failure_of a end
with failure_of (a : branches) : Q :=
  match a with No_more => 0 | Answer p _ t a => p * failure t + failure_of a end.

Fixpoint mass (a : branches) : Q := match a with No_more => 0 | Answer p _ _ a => p + mass a end.

Fixpoint within_delta (t : tree) (s : Q) : Prop :=
  match t with End => s <= delta_s | Release _ _ d a => s + d <= delta_s /\ mass a <= 1 /\ within_delta_of a (s + d) end
with within_delta_of (a : branches) (s : Q) : Prop :=
  match a with No_more => True | Answer _ _ t a => within_delta t s /\ within_delta_of a s end.

Lemma failures :
  (forall t s, honest t -> within_delta t s -> s <= delta_s -> failure t <= delta_s - s) /\
  (forall a f s, honest_of f a -> within_delta_of a s -> s <= delta_s -> failure_of a <= mass a * (delta_s - s)).
Proof.
  apply tree_branches_ind; cbn.
  - intros. lra.
  - intros e r d a IH s (D0 & D1 & _ & Ho) (Hs & Hm & Ha) H.
    assert (F := IH e (s + d) Ho Ha Hs).
    assert (F' : failure_of a <= delta_s - (s + d)).
    { apply Qle_trans with (mass a * (delta_s - (s + d))); [exact F|].
      assert (X : 0 <= (1 - mass a) * (delta_s - (s + d))) by (apply Qmult_le_0_compat; lra). lra. }
    assert (X : 0 <= (1 - d) * (delta_s - (s + d) - failure_of a)) by (apply Qmult_le_0_compat; lra).
    assert (Y : 0 <= d * (delta_s - (s + d))) by (apply Qmult_le_0_compat; lra). lra.
  - intros. lra.
  - intros p q t IHt a IHa f s ((Hp & _ & _) & Ht & Ha) (Wt & Wa) H.
    assert (X : 0 <= p * (delta_s - s - failure t)) by (apply Qmult_le_0_compat; [exact Hp|];
      assert (F := IHt s Ht Wt H); lra).
    assert (F := IHa f s Ha Wa H). lra.
Qed.

(** An event says of each path of answers without a failure, as numbers of branches, whether it is in it. Its part of
    [w (P - E Q)], where [w] is the probability that nothing has failed: the same for both neighbours. *)
Fixpoint gap (event : list nat -> bool) (t : tree) (path : list nat) (w P Q' : Q) : Q :=
  match t with
  | End => if event path then w * (P - E * Q') else 0
  | Release _ _ d a => gap_of event a 0 path (w * (1 - d)) P Q'
  end
with gap_of (event : list nat -> bool) (a : branches) (i : nat) (path : list nat) (w P Q' : Q) : Q :=
  match a with
  | No_more => 0
  | Answer p q t a => gap event t (i :: path) w (P * p) (Q' * q) + gap_of event a (S i) path w P Q'
  end.

Lemma gap_within_excess : forall event,
  (forall t path w P Q', honest t -> 0 <= w -> w <= 1 -> gap event t path w P Q' <= excess t P Q') /\
  (forall a f i path w P Q', honest_of f a -> 0 <= w -> w <= 1 -> gap_of event a i path w P Q' <= excess_of a P Q').
Proof.
  intros event. apply tree_branches_ind; cbn.
  - intros path w P Q' _ W0 W1. assert (N := positive_not_negative (P - E * Q')).
    assert (A := positive_above (P - E * Q')).
    destruct (event path); [|exact N]. set (x := P - E * Q') in *. set (y := positive x) in *.
    assert (X : 0 <= w * (y - x)) by (apply Qmult_le_0_compat; lra).
    assert (Y : 0 <= (1 - w) * y) by (apply Qmult_le_0_compat; lra). lra.
  - intros e r d a IH path w P Q' (D0 & D1 & _ & Ho) W0 W1. apply (IH e); [exact Ho| |].
    + apply Qmult_le_0_compat; lra.
    + assert (X : 0 <= w * d) by (apply Qmult_le_0_compat; lra). lra.
  - intros. lra.
  - intros p q t IHt a IHa f i path w P Q' (_ & Ht & Ha) W0 W1.
    assert (X := IHt (i :: path) w (P * p) (Q' * q) Ht W0 W1). assert (Y := IHa f (S i) path w P Q' Ha W0 W1). lra.
Qed.

(** For every event, [Pr[event] - E Pr'[event]] is at most this: what fails, and the gap of what does not. *)
Theorem the_whole_budget : forall t event, honest t -> allowed t (Some O) 0 -> within_delta t 0 -> 0 <= delta_s ->
  failure t + gap event t [] 1 1 1 <= delta_s + delta_B.
Proof.
  intros t event Ht Ha Hd Hs. assert (F := proj1 failures t 0 Ht Hd Hs).
  assert (G := proj1 (gap_within_excess event) t [] 1 1 1 Ht ltac:(lra) ltac:(lra)).
  assert (X := a_or_b_costs_nothing t Ht Ha). lra.
Qed.

End Rule.
