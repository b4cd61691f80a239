(** A budget's rule: a release is allowed if afterwards the deltas are within their share, and the epsilons (A) or the
    rhos (B) within their limit.

    Proven. Whatever is asked, in whatever order, what was allowed is within the limit: the true sums of integers,
    though the code's sums stop at 2^63 - 1; and once a release has no epsilon, by the rhos
    ([never_above_the_limit]). Why that rule is private is in AOrB.v.

    Model of: [Spent::plus] and [Limit::allows] in crates/dp_core/src/privacy/spending.rs.

    Tied to the code by: the vectors at the end, which are computed here and by the code in
    crates/dp_core/tests/suite/machine_checked.rs::budgets_allow_what_the_model_allows. *)

From Coq Require Import ZArith Lia List Bool.
Import ListNotations.
Open Scope Z_scope.

(** ** The integers *)

Record spent := Spent { epsilon : Z; rho : Z; delta : Z }.

Definition unbounded : Z := 2 ^ 63 - 1.
Definition saturating (x : Z) : Z := Z.min x unbounded.

Definition plus (a b : spent) : spent :=
  Spent (saturating (epsilon a + epsilon b)) (saturating (rho a + rho b)) (saturating (delta a + delta b)).

Definition allows (limit total : spent) : bool :=
  ((delta total <=? delta limit) && ((epsilon total <=? epsilon limit) || (rho total <=? rho limit)))%bool.

(** What is asked for, one after the other, each in the light of all answers before: what is allowed is charged. *)
Fixpoint run (limit total : spent) (asked : list spent) : list bool * spent :=
  match asked with
  | [] => ([], total)
  | charge :: asked =>
      let next := plus total charge in
      let '(verdict, total) := if allows limit next then (true, next) else (false, total) in
      let '(verdicts, final) := run limit total asked in (verdict :: verdicts, final)
  end.

(** The charges of the releases that were allowed. *)
Fixpoint released (limit total : spent) (asked : list spent) : list spent :=
  match asked with
  | [] => []
  | charge :: asked =>
      let next := plus total charge in
      if allows limit next then charge :: released limit next asked else released limit total asked
  end.

Fixpoint sum (part : spent -> Z) (l : list spent) : Z := match l with [] => 0 | c :: l => part c + sum part l end.

Definition is_charge (c : spent) : Prop := 0 <= epsilon c /\ 0 <= rho c /\ 0 <= delta c.
Definition is_limit (l : spent) : Prop :=
  (0 <= epsilon l < unbounded) /\ (0 <= rho l < unbounded) /\ (0 <= delta l < unbounded).

Lemma sum_not_negative : forall part l, (forall c, In c l -> 0 <= part c) -> 0 <= sum part l.
Proof.
  intros part l. induction l as [|c l IH]; intros H; cbn; [lia|].
  assert (0 <= part c) by (apply H; left; reflexivity). assert (0 <= sum part l) by (apply IH; intros d D; apply H;
    right; exact D). lia.
Qed.

Lemma released_in : forall limit asked total c, In c (released limit total asked) -> In c asked.
Proof.
  intros limit asked. induction asked as [|d asked IH]; intros total c; cbn; [tauto|].
  destruct (allows _ _); cbn; intros H; [destruct H as [H|H]; [left; exact H|]|]; right; eapply IH; exact H.
Qed.

Lemma final_total : forall limit asked total, Forall is_charge asked -> is_charge total ->
  snd (run limit total asked) = fold_left plus (released limit total asked) total.
Proof.
  intros limit asked. induction asked as [|c asked IH]; intros total F T; [reflexivity|]. inversion F; subst. cbn.
  assert (N : is_charge (plus total c)).
  { unfold is_charge, plus, saturating, unbounded in *. cbn. lia. }
  destruct (allows limit (plus total c)); cbn.
  - rewrite <- IH by assumption. destruct (run limit (plus total c) asked). reflexivity.
  - rewrite <- IH by assumption. destruct (run limit total asked). reflexivity.
Qed.

Lemma saturated : forall part l total,
  (forall a b, part (plus a b) = saturating (part a + part b)) -> (forall c, In c l -> 0 <= part c) ->
  part total <= unbounded ->
  part (fold_left plus l total) = saturating (part total + sum part l).
Proof.
  intros part l. induction l as [|c l IH]; intros total Hp Hc Ht; cbn.
  - unfold saturating. lia.
  - assert (0 <= part c) by (apply Hc; left; reflexivity).
    assert (0 <= sum part l) by (apply sum_not_negative; intros d D; apply Hc; right; exact D).
    rewrite IH; [| exact Hp | intros d D; apply Hc; right; exact D | rewrite Hp; unfold saturating; lia].
    rewrite Hp. unfold saturating. lia.
Qed.

Lemma always_allowed : forall limit asked total, allows limit total = true ->
  allows limit (snd (run limit total asked)) = true.
Proof.
  intros limit asked. induction asked as [|c asked IH]; intros total H; [exact H|]. cbn.
  destruct (allows limit (plus total c)) eqn:E.
  - specialize (IH _ E). destruct (run limit (plus total c) asked). exact IH.
  - specialize (IH _ H). destruct (run limit total asked). exact IH.
Qed.

(** The sums of what was allowed, as true integers, are within the limit; if a release has no epsilon, by the rhos. *)
Theorem never_above_the_limit : forall limit asked, is_limit limit -> Forall is_charge asked ->
  let l := released limit (Spent 0 0 0) asked in
  sum delta l <= delta limit /\ (sum epsilon l <= epsilon limit \/ sum rho l <= rho limit) /\
  ((exists c, In c l /\ epsilon c = unbounded) -> sum rho l <= rho limit).
Proof.
  intros limit asked (Le & Lr & Ld) F. cbv zeta. set (l := released limit (Spent 0 0 0) asked).
  assert (C : forall c, In c l -> is_charge c).
  { intros c H. rewrite Forall_forall in F. apply F. eapply released_in. exact H. }
  assert (A0 : allows limit (Spent 0 0 0) = true).
  { unfold allows. cbn. rewrite !(proj2 (Z.leb_le _ _)) by lia. reflexivity. }
  assert (A := always_allowed limit asked _ A0).
  rewrite final_total in A; [|exact F|unfold is_charge; cbn; lia]. fold l in A. unfold allows in A.
  rewrite (saturated epsilon), (saturated rho), (saturated delta) in A; try reflexivity;
    try (intros c H; apply C, H); try (cbn; unfold unbounded; lia).
  cbn [epsilon rho delta] in A. unfold saturating in A.
  apply andb_prop in A. destruct A as (Ad & Aer). apply Z.leb_le in Ad.
  assert (Er : sum epsilon l <= epsilon limit \/ sum rho l <= rho limit).
  { apply orb_prop in Aer. destruct Aer as [Ae|Ar]; [left; apply Z.leb_le in Ae|right; apply Z.leb_le in Ar]; lia. }
  split; [lia|]. split; [exact Er|]. intros (c & I & U). destruct Er as [Ee|?]; [|assumption]. exfalso.
  assert (epsilon c <= sum epsilon l); [|lia]. clear - I C. induction l as [|d l IH]; [contradiction|]. cbn.
  assert (0 <= epsilon d) by (apply C; left; reflexivity).
  assert (0 <= sum epsilon l) by (apply sum_not_negative; intros x X; apply C; right; exact X).
  destruct I as [->|I]; [lia|]. assert (epsilon c <= sum epsilon l) by (apply IH; [intros x X; apply C; right;
    exact X|exact I]). lia.
Qed.

(** Charges go on to be allowed in any part of what was allowed: fewer of them need no more. *)
Theorem a_part_is_allowed : forall limit a b, (epsilon a <= epsilon b) -> (rho a <= rho b) -> (delta a <= delta b) ->
  allows limit b = true -> allows limit a = true.
Proof.
  intros limit a b He Hr Hd. unfold allows. rewrite !andb_true_iff, !orb_true_iff, !Z.leb_le. lia.
Qed.

(** ** Vectors: a limit, what is asked for, the verdicts, and what is spent in the end *)

Definition inf := unbounded.

Definition vectors : list ((Z * Z * Z) * list (Z * Z * Z) * list bool * (Z * Z * Z)) := [
  (* vector *) ((10, 0, 0), [(4, 1, 0); (4, 1, 0); (4, 1, 0); (2, 1, 0); (1, 1, 0)], [true; true; false; true;
    false], (10, 3, 0));
  (* vector *) ((10, 5, 3), [(4, 1, 0); (4, 1, 0); (4, 1, 0); (4, 1, 1); (4, 2, 0); (4, 1, 3)], [true; true; true;
    true; false; false], (16, 4, 1));
  (* vector *) ((10, 5, 3), [(inf, 2, 0); (6, 1, 0); (6, 1, 2); (inf, 1, 2); (inf, 1, 1); (1, 1, 0)], [true; true;
    true; false; true; false], (inf, 5, 3));
  (* vector *) ((10, 5, 3), [(1, 9, 0); (inf, 1, 0); (9, inf, 3); (0, 0, 1)], [true; false; true; false], (10, inf, 3));
  (* vector *) ((100, 100, 7), [(inf, inf, 0); (inf, 100, 7); (inf, 1, 0); (5, 0, 0)], [false; true; false;
    true], (inf, 100, 7));
  (* vector *) ((9223372036854775806, 9223372036854775806, 0), [(9223372036854775806, 0, 0);
    (1, 9223372036854775807, 0); (7, 9223372036854775806, 0); (1, 1, 0)], [true; false; true;
      false], (inf, 9223372036854775806, 0));
  (* vector *) ((0, 0, 0), [(1, 1, 0); (0, 0, 0); (0, 1, 0); (1, 0, 0); (1, 1, 0)], [false; true; true; false;
    false], (0, 1, 0)) ].

Definition of_three (v : Z * Z * Z) : spent := let '(e, r, d) := v in Spent e r d.

Definition agrees (v : (Z * Z * Z) * list (Z * Z * Z) * list bool * (Z * Z * Z)) : bool :=
  let '(limit, asked, verdicts, final) := v in
  let '(said, total) := run (of_three limit) (Spent 0 0 0) (map of_three asked) in
  let '(e, r, d) := final in
  ((if list_eq_dec bool_dec said verdicts then true else false)
    && (epsilon total =? e) && (rho total =? r) && (delta total =? d))%bool.

Example vectors_agree : forallb agrees vectors = true.
Proof. vm_compute. reflexivity. Qed.
