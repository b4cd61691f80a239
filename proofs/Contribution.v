(** What a person with any number of rows contributes: at most [k] rows, and how far that moves the sums of a group.

    Proven. The code's [scaled] is the exact floor of [sum part / whole]. A contribution [(n', s', q')] has
    [1 <= n' <= k], [0 <= s' <= G n'] and [s'^2 <= n' q'], [q' <= G s'], whatever numbers it was made from; its sum is
    that of [n'] rows from 0 to [G]; it does not depend on the order of the rows. To take a person away moves the sums
    of a group by exactly their contribution, and so by no more than [k] rows do ([neighbours]); for variances, no
    further in the two norms that their noise is for ([variance_laplace], [variance_gaussian]).

    Model of: [PersonRows], [Contribution::brought_in], [Contribution::at_most] and [scaled] in
    crates/dp_core/src/encoding/contribution.rs, on integers without a width; docs/proofs/contribution.md.

    Tied to the code by: the vectors at the end, which are computed here and by the code in
    crates/dp_core/tests/suite/machine_checked.rs::contributions_are_those_of_the_model. *)

From Coq Require Import ZArith Lia List Permutation Bool.
Import ListNotations.
Open Scope Z_scope.

(** ** As the code has it *)

Definition scaled (sum part whole : Z) : Z :=
  if part =? whole then sum else (sum / whole) * part + (sum mod whole) * part / whole.

Definition div_ceil (a b : Z) : Z := (a + b - 1) / b.
Definition clamp (x least most : Z) : Z := Z.min (Z.max x least) most.

Record contribution := Of { rows : Z; sum : Z; squares : Z }.

Definition brought_in (n s q G : Z) : contribution :=
  let s' := Z.min s (G * n) in
  let least := if n =? 1 then s' * s' else div_ceil (s' * s') n in
  Of n s' (clamp q least (G * s')).

(** Of a person's sums: [n] rows, their sum [s], and that of their squares, [q]. *)
Definition contribute (k G n s q : Z) : contribution :=
  let kept := Z.min n (Z.max k 1) in
  brought_in kept (scaled s kept n) (scaled q kept n) G.

(** A second limit, of a call. *)
Definition at_most (k G : Z) (c : contribution) : contribution := contribute k G (rows c) (sum c) (squares c).

Fixpoint total (l : list Z) : Z := match l with [] => 0 | t :: l => t + total l end.
Definition count (l : list Z) : Z := Z.of_nat (length l).
Definition square (t : Z) : Z := t * t.

(** Of a person's rows, at steps of the grid. *)
Definition of_rows (k G : Z) (l : list Z) : contribution := contribute k G (count l) (total l) (total (map square l)).

(** ** One person *)

Theorem scaled_is_the_floor : forall s part whole, 0 < whole -> scaled s part whole = s * part / whole.
Proof.
  intros s part whole H. unfold scaled. destruct (Z.eqb_spec part whole) as [->|_].
  - symmetry. apply Z.div_mul. lia.
  - replace (s * part) with (s mod whole * part + (s / whole * part) * whole).
    + rewrite Z.div_add by lia. lia.
    + assert (D := Z_div_mod_eq_full s whole). nia.
Qed.

Lemma scaled_between : forall s part whole most, 0 < whole -> 0 <= part -> 0 <= s <= most * whole ->
  0 <= scaled s part whole <= most * part.
Proof.
  intros s part whole most Hw Hp Hs. rewrite scaled_is_the_floor by exact Hw. split.
  - apply Z.div_pos; nia.
  - apply Z.div_le_upper_bound; nia.
Qed.

Lemma div_ceil_least : forall a b c, 0 < b -> (div_ceil a b <= c <-> a <= b * c).
Proof.
  intros a b c H. unfold div_ceil. split; intros L.
  - assert (D := Z_div_mod_eq_full (a + b - 1) b). assert (M := Z.mod_pos_bound (a + b - 1) b H). nia.
  - apply Z.lt_succ_r. apply Z.div_lt_upper_bound; nia.
Qed.

(** Where contributions are, by any numbers that are not negative. *)
Theorem any_numbers_are_brought_in : forall n s q G, 0 < n -> 0 <= s -> 0 <= G ->
  let c := brought_in n s q G in
  rows c = n /\ 0 <= sum c <= G * n /\ sum c * sum c <= n * squares c /\ squares c <= G * sum c /\ 0 <= squares c.
Proof.
  intros n s q G Hn Hs HG. cbn. set (t := Z.min s (G * n)).
  assert (Ht : 0 <= t <= G * n) by (unfold t; nia).
  set (least := if n =? 1 then t * t else div_ceil (t * t) n).
  assert (Hl : forall c, least <= c <-> t * t <= n * c).
  { intros c. unfold least. destruct (Z.eqb_spec n 1) as [->|_]; [lia|]. apply div_ceil_least. exact Hn. }
  assert (Top : least <= G * t) by (apply Hl; nia).
  assert (Low : t * t <= n * least) by (apply Hl; lia).
  unfold clamp. assert (B : least <= Z.min (Z.max q least) (G * t) <= G * t) by lia.
  apply Hl in Low. repeat split; try lia.
  - apply Hl. lia.
  - assert (0 <= n * least) by (assert (t * t <= n * least) by (apply Hl; lia); nia). nia.
Qed.

Definition on_grid (G : Z) (l : list Z) : Prop := Forall (fun t => 0 <= t <= G) l.

Lemma total_on_grid : forall G l, on_grid G l -> 0 <= total l <= G * count l.
Proof. intros G l H. unfold count. induction H; cbn [total length]; [lia|]. rewrite Nat2Z.inj_succ. lia. Qed.

Lemma squares_on_grid : forall G l, on_grid G l -> 0 <= total (map square l) <= G * total l.
Proof. intros G l H. induction H; cbn [total map]; [lia|]. unfold square at 1 3. nia. Qed.

(** Nothing is cut off of the sum: it is the share of it, rounded down. *)
Theorem the_share_of_the_sum : forall k G l, 1 <= k -> 0 <= G -> on_grid G l -> l <> [] ->
  let c := of_rows k G l in
  rows c = Z.min (count l) k /\ sum c = total l * rows c / count l.
Proof.
  intros k G l Hk HG Hl Hn. assert (0 < count l) by (destruct l; [congruence|cbn; lia]).
  assert (T := total_on_grid G l Hl). cbn. replace (Z.max k 1) with k by lia. split; [reflexivity|].
  assert (B := scaled_between (total l) (Z.min (count l) k) (count l) G ltac:(lia) ltac:(lia) ltac:(lia)).
  rewrite Z.min_l by lia. apply scaled_is_the_floor. lia.
Qed.

(** The bounds of a person with any rows. *)
Theorem bounds_of_a_person : forall k G l, 1 <= k -> 0 <= G -> on_grid G l -> l <> [] ->
  let c := of_rows k G l in
  1 <= rows c <= k /\ 0 <= sum c <= G * rows c /\ sum c * sum c <= rows c * squares c /\ squares c <= G * sum c.
Proof.
  intros k G l Hk HG Hl Hn. assert (0 < count l) by (destruct l; [congruence|cbn; lia]).
  assert (T := total_on_grid G l Hl).
  assert (S := scaled_between (total l) (Z.min (count l) (Z.max k 1)) (count l) G ltac:(lia) ltac:(lia) ltac:(lia)).
  assert (B := any_numbers_are_brought_in (Z.min (count l) (Z.max k 1))
    (scaled (total l) (Z.min (count l) (Z.max k 1)) (count l))
    (scaled (total (map square l)) (Z.min (count l) (Z.max k 1)) (count l)) G ltac:(lia) ltac:(lia) HG).
  cbv zeta in *. change (of_rows k G l) with (brought_in (Z.min (count l) (Z.max k 1))
    (scaled (total l) (Z.min (count l) (Z.max k 1)) (count l))
    (scaled (total (map square l)) (Z.min (count l) (Z.max k 1)) (count l)) G).
  destruct B as (E & B1 & B2 & B3 & _). rewrite E. repeat split; lia.
Qed.

(** A second limit cannot be got around: whatever was read, the call's own [k] holds. *)
Theorem bounds_of_a_call : forall k G c, 1 <= k -> 0 <= G -> 0 < rows c -> 0 <= sum c ->
  let d := at_most k G c in
  1 <= rows d <= k /\ 0 <= sum d <= G * rows d /\ sum d * sum d <= rows d * squares d /\ squares d <= G * sum d.
Proof.
  intros k G c Hk HG Hn Hs. unfold at_most, contribute. set (kept := Z.min (rows c) (Z.max k 1)).
  assert (B := any_numbers_are_brought_in kept (scaled (sum c) kept (rows c)) (scaled (squares c) kept (rows c)) G
    ltac:(lia) ltac:(rewrite scaled_is_the_floor by lia; apply Z.div_pos; nia) HG).
  cbv zeta in B. destruct B as (E & B1 & B2 & B3 & _). cbv zeta. rewrite E. repeat split; lia.
Qed.

(** Each sum from 0 to [G n] is that of [n] rows from 0 to [G]. *)
Theorem some_rows_have_this_sum : forall G n s, 0 <= G -> 0 <= s <= G * Z.of_nat n ->
  exists l, length l = n /\ on_grid G l /\ total l = s.
Proof.
  intros G n. induction n as [|n IH]; intros s HG Hs.
  - exists []. repeat split; [constructor|cbn; lia].
  - destruct (IH (s - Z.min s G)) as (l & L & O & T); [exact HG|nia|].
    exists (Z.min s G :: l). repeat split.
    + cbn. rewrite L. reflexivity.
    + constructor; [lia|exact O].
    + cbn. lia.
Qed.

Lemma total_permutation : forall l l', Permutation l l' -> total l = total l'.
Proof. intros l l' P. induction P; cbn; lia. Qed.

(** Neither the order of the rows nor a split into parts matters. *)
Theorem a_contribution_has_no_order : forall k G l l', Permutation l l' -> of_rows k G l = of_rows k G l'.
Proof.
  intros k G l l' P. unfold of_rows, count.
  rewrite (Permutation_length P), (total_permutation _ _ P), (total_permutation _ _ (Permutation_map square P)).
    reflexivity.
Qed.

Lemma total_app : forall l m, total (l ++ m) = total l + total m.
Proof. intros l m. induction l as [|t l IH]; cbn; lia. Qed.

Theorem parts_of_a_person_add_up : forall k G l m, of_rows k G (l ++ m)
  = contribute k G (count l + count m) (total l + total m) (total (map square l) + total (map square m)).
Proof. intros. unfold of_rows, count. rewrite map_app, !total_app, app_length, Nat2Z.inj_add. reflexivity. Qed.

(** ** All persons

    A table is a list of rows, each with its person and its step. The sums of a group are those of the contributions
    of all persons who have a row in it. *)

Definition table := list (nat * Z).
Definition of_person (p : nat) (t : table) : list Z := map snd (filter (fun r => Nat.eqb (fst r) p) t).
Definition without (p : nat) (t : table) : table := filter (fun r => negb (Nat.eqb (fst r) p)) t.

Definition nothing := Of 0 0 0.
Definition plus (a b : contribution) := Of (rows a + rows b) (sum a + sum b) (squares a + squares b).
Definition of_a_person (k G : Z) (p : nat) (t : table) : contribution :=
  match of_person p t with [] => nothing | l => of_rows k G l end.
Definition sums (k G : Z) (people : list nat) (t : table) : contribution :=
  fold_right (fun p c => plus (of_a_person k G p t) c) nothing people.

Lemma of_person_without : forall p q t, of_person q (without p t) = if Nat.eqb p q then [] else of_person q t.
Proof.
  intros p q t. unfold of_person, without. induction t as [|r t IH]; cbn; [destruct (Nat.eqb p q); reflexivity|].
  destruct (Nat.eqb_spec (fst r) p) as [->|D]; cbn.
  - rewrite IH. destruct (Nat.eqb_spec p q); reflexivity.
  - destruct (Nat.eqb_spec (fst r) q) as [E|E]; cbn; rewrite IH; [|reflexivity].
    destruct (Nat.eqb_spec p q); [congruence|reflexivity].
Qed.

Lemma sums_cons : forall k G p people t, sums k G (p :: people) t = plus (of_a_person k G p t) (sums k G people t).
Proof. reflexivity. Qed.

Lemma sums_of_others : forall k G p people t, ~ In p people -> sums k G people (without p t) = sums k G people t.
Proof.
  intros k G p people t. induction people as [|q people IH]; intros N; [reflexivity|]. rewrite !sums_cons.
  rewrite IH by (intros I; apply N; right; exact I). f_equal. unfold of_a_person. rewrite of_person_without.
  destruct (Nat.eqb_spec p q) as [->|_]; [exfalso; apply N; left|]; reflexivity.
Qed.

Lemma plus_swap : forall a b c, plus a (plus b c) = plus b (plus a c).
Proof. intros. unfold plus. cbn. f_equal; lia. Qed.

(** A person is taken away: the sums lose what they contributed, and nothing else. *)
Theorem what_a_person_moves : forall k G p people t, NoDup people -> In p people ->
  sums k G people t = plus (of_a_person k G p t) (sums k G people (without p t)).
Proof.
  intros k G p people t Nd. induction Nd as [|q people Nq Nd IH]; intros I; [contradiction|].
    destruct I as [->|I]; rewrite !sums_cons.
  - rewrite sums_of_others by exact Nq. f_equal. unfold of_a_person.
    rewrite of_person_without, Nat.eqb_refl. unfold plus, nothing. cbn. destruct (sums k G people t); reflexivity.
  - rewrite (IH I). rewrite plus_swap. do 2 f_equal. unfold of_a_person. rewrite of_person_without.
    destruct (Nat.eqb_spec p q) as [->|_]; [contradiction|reflexivity].
Qed.

(** How far neighbours differ, and that they differ by the sums of some [n' <= k] rows. *)
Theorem neighbours : forall k G p people t, 1 <= k -> 0 <= G -> NoDup people -> In p people -> on_grid G (map snd t) ->
  let a := sums k G people t in
  let b := sums k G people (without p t) in
  0 <= rows a - rows b <= k /\
  0 <= sum a - sum b <= G * (rows a - rows b) /\
  0 <= squares a - squares b <= G * (sum a - sum b) /\
  exists l, count l = rows a - rows b /\ on_grid G l /\ total l = sum a - sum b.
Proof.
  intros k G p people t Hk HG Nd I Hg. cbv zeta. rewrite (what_a_person_moves k G p people t Nd I).
  set (c := of_a_person k G p t). set (b := sums k G people (without p t)). cbn [plus rows sum squares].
  assert (B : 0 <= rows c <= k /\ 0 <= sum c <= G * rows c /\ 0 <= squares c <= G * sum c).
  { unfold c, of_a_person. destruct (of_person p t) as [|x l] eqn:E; [cbn; lia|].
    assert (O : on_grid G (x :: l)).
    { rewrite <- E. unfold on_grid, of_person in *. rewrite Forall_forall in *. intros y Y. apply Hg.
      apply in_map_iff in Y. destruct Y as (r & <- & R). apply filter_In in R. apply in_map, R. }
    assert (P := bounds_of_a_person k G (x :: l) Hk HG O ltac:(discriminate)). cbv zeta in P.
    set (d := of_rows k G (x :: l)) in *. repeat split; try lia; nia. }
  replace (rows c + rows b - rows b) with (rows c) by lia. replace (sum c + sum b - sum b) with (sum c) by lia.
  replace (squares c + squares b - squares b) with (squares c) by lia.
  repeat split; try lia.
  destruct (some_rows_have_this_sum G (Z.to_nat (rows c)) (sum c)) as (l & L & O & T); [exact HG|nia|].
  exists l. unfold count. rewrite L, Z2Nat.id by lia. repeat split; [exact O|exact T].
Qed.

(** ** Variances

    Of [(n, s, q)] they look at [b0], [b1], [b2], which add up to [n G^2]; [b1 / 2] is an integer. Laplace noise is for
    the sum of absolute values of [f], Gaussian noise for the Euclidean length of [l], both times 2 here. *)

Lemma means : forall a b c, 0 <= a -> 0 <= b -> 0 <= c -> b * b <= 4 * (a * c) -> b <= a + c.
Proof.
  intros a b c Ha Hb Hc H. apply Z.square_le_simpl_nonneg; [lia|].
  assert (E : (a + c) * (a + c) = 4 * (a * c) + (a - c) * (a - c)) by ring. rewrite E.
  assert (0 <= (a - c) * (a - c)) by apply Z.square_nonneg. lia.
Qed.

Lemma length_of_three : forall a b c, 0 <= b -> b <= a + c -> b * b <= 4 * (a * c) ->
  square (2 * a - b) + square (4 * b) + square (2 * c - b) <= square (2 * (a + b + c)).
Proof.
  intros a b c Hb M S. unfold square.
  assert (E : 2 * (a + b + c) * (2 * (a + b + c)) - ((2 * a - b) * (2 * a - b) + 4 * b * (4 * b) + (2 * c - b) * (2 *
    c - b))
    = 12 * (b * (a + c - b)) + 2 * (4 * (a * c) - b * b)) by ring.
  assert (0 <= b * (a + c - b)) by (apply Z.mul_nonneg_nonneg; lia). lia.
Qed.

Section Variance.
Variables n s q G : Z.
Hypothesis (Hn : 0 < n) (HG : 0 <= G) (Hs : 0 <= s <= G * n) (Hq : q <= G * s) (Hc : s * s <= n * q).

Let b0 := n * G * G - 2 * G * s + q.
Let b1 := 2 * (G * s - q).
Let b2 := q.

Lemma not_negative : 0 <= b0 /\ 0 <= b1 /\ 0 <= b2 /\ b0 + b1 + b2 = n * G * G.
Proof.
  assert (Q : 0 <= q) by (assert (0 <= s * s) by apply Z.square_nonneg; apply Z.mul_nonneg_cancel_l with n; lia).
  assert (B0 : 0 <= n * G * G - 2 * G * s + q); [|unfold b0, b1, b2; repeat split; lia].
  assert (E : n * (n * G * G - 2 * G * s + q) = (n * G - s) * (n * G - s) + (n * q - s * s)) by ring.
  assert (S : 0 <= (n * G - s) * (n * G - s)) by apply Z.square_nonneg.
  apply Z.mul_nonneg_cancel_l with n; lia.
Qed.

Lemma middle_squared : b1 * b1 <= 4 * (b0 * b2).
Proof.
  assert (E : 4 * (b0 * b2) - b1 * b1 = 4 * (G * G * (n * q - s * s))) by (unfold b0, b1, b2; ring).
  assert (0 <= G * G * (n * q - s * s)) by (apply Z.mul_nonneg_nonneg; [apply Z.square_nonneg|lia]). lia.
Qed.

Lemma middle : b1 <= b0 + b2.
Proof. destruct not_negative as (N0 & N1 & N2 & _). exact (means _ _ _ N0 N1 N2 middle_squared). Qed.

Theorem variance_laplace : Z.abs (4 * b0 - b1) + Z.abs (4 * b1) + Z.abs (4 * b2 - b1) <= 4 * G * G * n.
Proof. destruct not_negative as (N0 & N1 & N2 & T). assert (M := middle). lia. Qed.

Theorem variance_gaussian :
  square (2 * b0 - b1) + square (4 * b1) + square (2 * b2 - b1) <= square (2 * G * G * n).
Proof.
  destruct not_negative as (N0 & N1 & N2 & T). replace (2 * G * G * n) with (2 * (b0 + b1 + b2)) by lia.
  exact (length_of_three _ _ _ N1 middle middle_squared).
Qed.
End Variance.

(** ** Vectors: a person's [k], grid [G], rows, and what they contribute *)

Definition vectors : list (Z * Z * list Z * (Z * Z * Z)) := [
  (* vector *) (1, 4, [3], (1, 3, 9));
  (* vector *) (1, 4, [0; 4], (1, 2, 8));
  (* vector *) (2, 4, [1; 2; 4], (2, 4, 14));
  (* vector *) (2, 4, [4; 4; 4; 4; 4], (2, 8, 32));
  (* vector *) (3, 4, [0; 0; 0; 0], (3, 0, 0));
  (* vector *) (3, 7, [1; 0; 0; 0; 0], (3, 0, 0));
  (* vector *) (3, 7, [7; 7; 7; 0], (3, 15, 105));
  (* vector *) (4, 7, [1; 1; 1; 1; 2], (4, 4, 6));
  (* vector *) (5, 7, [6; 5; 4], (3, 15, 77));
  (* vector *) (2, 1, [1; 0; 1], (2, 1, 1));
  (* vector *) (1, 100, [99; 98; 100], (1, 99, 9801));
  (* vector *) (2, 4294967296, [4294967296; 4294967295; 1], (2, 5726623061, 24595658759219445761)) ].

Definition agrees (v : Z * Z * list Z * (Z * Z * Z)) : bool :=
  let '(k, G, l, (n, s, q)) := v in
  let c := of_rows k G l in ((rows c =? n) && (sum c =? s) && (squares c =? q))%bool.

Example vectors_agree : forallb agrees vectors = true.
Proof. vm_compute. reflexivity. Qed.
