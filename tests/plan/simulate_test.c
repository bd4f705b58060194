/* SPDX-License-Identifier: MIT
 * The simulation against schedules that were computed by hand. */
#include "plan/simulate.h"
#include "support.h"

static st_sim_result run(const st_costs *costs, const st_schedule *s, uint32_t streams, uint32_t prompt,
                         uint32_t generate) {
    st_workload workload = {streams, prompt, generate};
    st_sim_options options = {.seed = 1, .record = true};
    st_sim_result out;
    stretto_error err = {0};
    int code = st_simulate(&out, costs, s, &workload, &options, &err);
    if (code) fail_msg("%s", err.text);
    return out;
}

static void ends(st_sim_result *r, double first, double end) {
    assert_float_equal(r->streams[0].first_ns, first, 1e-6);
    assert_float_equal(r->end_ns, end, 1e-6);
    double path = r->path.latency_ns;
    for (unsigned u = 0; u <= ST_PLAN_UNITS_MAX; u++) path += r->path.unit_ns[u];
    assert_float_equal(path, end, 1e-6);
    st_sim_result_free(r);
}

/* 100 + 200 for each token, 10 for each call at the host and 5 for each token. */
static void one_stream_is_a_chain(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 1, (double[]){100, 200});
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0, 0});
    st_sim_result r = run(&costs, &s, 1, 1, 3);
    assert_float_equal(r.tokens_per_s, 2e9 / 600, 1e-3);
    assert_float_equal(r.gap_ns, 300, 1e-6);
    assert_float_equal(r.utilisation[0], 1, 1e-9);
    assert_int_equal(r.n_events, 9); /* two chunks and the host, three times */
    ends(&r, 300, 900);
    costs.host = (st_cost_host){.choose_ns = 10, .text_ns = 5};
    r = run(&costs, &s, 1, 1, 3);
    assert_float_equal(r.path.unit_ns[1], 45, 1e-6); /* the host's part */
    ends(&r, 315, 945);
    s.host_beside = true;
    r = run(&costs, &s, 1, 1, 3);
    ends(&r, 315, 915);
    costs.units[0].dispatch_ns = 1;
    r = run(&costs, &s, 1, 1, 3);
    ends(&r, 317, 921);
    st_costs_free(&costs);
}

static void placing_one_stream_gains_nothing_and_pays_the_way(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){100, 100, 200, 200});
    costs.transfers[1] = costs.transfers[2] = (st_cost_transfer){.fixed_ns = 10, .token_ns = 1};
    st_schedule s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){0, 1});
    st_sim_result r = run(&costs, &s, 1, 1, 3);
    assert_float_equal(r.path.latency_ns, 33, 1e-6);
    ends(&r, 311, 933);
    s.host_beside = true; /* each next token goes back to the first unit, without the host */
    r = run(&costs, &s, 1, 1, 3);
    assert_float_equal(r.path.latency_ns, 55, 1e-6); /* 11 for each token there, and back */
    ends(&r, 311, 955);
    st_costs_free(&costs);
}

/* The unit of a call's last chunk says what noticing its end takes; the host's number is for those that do not. */
static void the_host_takes_as_long_as_the_last_unit_says(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){100, 100, 200, 200});
    costs.host = (st_cost_host){.choose_ns = 10, .text_ns = 5};
    costs.units[1].choose_ns = 40;
    st_schedule s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){0, 1});
    st_sim_result r = run(&costs, &s, 1, 1, 3);
    assert_float_equal(r.path.unit_ns[2], 135, 1e-6);
    ends(&r, 345, 1035);
    s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){1, 0});
    r = run(&costs, &s, 1, 1, 3);
    ends(&r, 315, 945);
    costs.units[1].choose_ns = 0;
    s = schedule_make(ST_SCHEDULE_HANDOVER, &costs, (uint32_t[]){0, 0}); /* prompts on unit 1, decoding on unit 0 */
    snprintf(s.units[s.n_units], ST_PLAN_NAME, "u1");
    s.prompt_unit = s.n_units++;
    r = run(&costs, &s, 1, 1, 3);
    ends(&r, 305, 305 + 2 * 315);
    s = schedule_make(ST_SCHEDULE_REPLICAS, &costs, (uint32_t[]){0, 1});
    s.streams = 2;
    r = run(&costs, &s, 2, 1, 3);
    assert_float_equal(r.streams[0].first_ns, 315, 1e-6);
    assert_float_equal(r.streams[1].first_ns, 320, 1e-6); /* the host does one call at a time */
    st_sim_result_free(&r);
    st_costs_free(&costs);
}

/* Two stages of 100: while stream 0 is in the second, stream 1 is in the first. */
static void staged_streams_keep_both_units_busy(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){100, 100, 100, 100});
    st_schedule s = schedule_make(ST_SCHEDULE_STAGED, &costs, (uint32_t[]){0, 1});
    s.streams = 2;
    s.micro_batch = 1; /* one prompt in a call */
    st_sim_result r = run(&costs, &s, 2, 1, 3);
    assert_float_equal(r.streams[1].first_ns, 300, 1e-6);
    assert_float_equal(r.streams[0].last_ns, 600, 1e-6);
    assert_float_equal(r.busy_ns[0], 600, 1e-6);
    assert_float_equal(r.tokens_per_s, 4e9 / 500, 1e-3); /* decoding from 200 to 700 */
    ends(&r, 200, 700);
    table_slow(&costs, 2); /* beside each other both take 200; the last step runs alone */
    r = run(&costs, &s, 2, 1, 3);
    assert_float_equal(r.streams[1].first_ns, 500, 1e-6);
    assert_float_equal(r.streams[0].last_ns, 1100, 1e-6);
    ends(&r, 300, 1200);
    st_costs_free(&costs);
}

/* 100 beside 60, slowed 1.5 and 2 times: the second ends at 120; the first has done 80 by then and ends at 140. */
static void rates_change_when_a_neighbour_ends(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 2, (double[]){100, 60});
    for (unsigned w = 0; w < ST_WORKS; w++) {
        *st_cost_unit_slowdown(&costs, 0, ST_WORK_PREFILL, 1, w) = 1.5;
        *st_cost_unit_slowdown(&costs, 1, ST_WORK_PREFILL, 0, w) = 2;
    }
    st_schedule s = schedule_make(ST_SCHEDULE_REPLICAS, &costs, (uint32_t[]){0});
    s.n_units = 2;
    snprintf(s.units[1], ST_PLAN_NAME, "u1");
    s.streams = 2;
    st_sim_result r = run(&costs, &s, 2, 1, 1);
    assert_float_equal(r.streams[1].last_ns, 120, 1e-6);
    ends(&r, 140, 140);
    st_costs_free(&costs);
}

/* Two units read two prompts of one token in a call of 200, slowed twice, and decode two rows, which do not slow each
 * other where the table says so of a batch, and as one row does otherwise. */
static void several_rows_have_slowdowns_of_their_own(void **state) {
    (void)state;
    st_costs costs;
    for (int batch = 0; batch < 2; batch++) {
        table_make(&costs, 1, 2, (double[]){100, 100});
        for (unsigned i = 0; i < 4; i++) *st_cost_unit_slowdown(&costs, i / 2, ST_WORK_PREFILL, 1 - i / 2, i % 2) = 2;
        for (unsigned u = 0; u < 2; u++) {
            *st_cost_unit_slowdown(&costs, u, ST_WORK_DECODE, 1 - u, ST_WORK_DECODE) = 1.5;
            if (batch) *st_cost_unit_slowdown(&costs, u, ST_WORK_BATCH, 1 - u, ST_WORK_BATCH) = 1;
        }
        st_schedule s = schedule_make(ST_SCHEDULE_REPLICAS, &costs, (uint32_t[]){0});
        s.n_units = 2;
        snprintf(s.units[1], ST_PLAN_NAME, "u1");
        s.streams = 4;
        s.batch = 2;
        st_sim_result r = run(&costs, &s, 4, 1, 2);
        ends(&r, 400, batch ? 600 : 700);
        st_costs_free(&costs);
    }
}

/* A call takes no more tokens of prompts than a context has positions: 3 and 1 of two prompts, then 2. */
static void a_call_has_as_many_tokens_as_a_context(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 1, (double[]){10});
    st_schedule s = schedule_make(ST_SCHEDULE_BATCHED, &costs, (uint32_t[]){0});
    s.streams = s.batch = 2;
    st_sim_result r = run(&costs, &s, 2, 3, 1);
    ends(&r, 40, 60);
    st_costs_free(&costs);
}

/* Three units at once: each is slowed by the sum of what both others add. */
static void slowdowns_of_several_neighbours_add_up(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 3, (double[]){100, 100, 50});
    table_slow(&costs, 1.25);
    st_schedule s = schedule_make(ST_SCHEDULE_REPLICAS, &costs, (uint32_t[]){0});
    for (uint32_t u = 1; u < 3; u++) snprintf(s.units[u], ST_PLAN_NAME, "u%u", u);
    s.n_units = s.streams = 3;
    st_sim_result r = run(&costs, &s, 3, 1, 1);
    assert_float_equal(r.streams[2].last_ns, 75, 1e-6); /* 50 at 1.5 times slower; the others have done 50 */
    ends(&r, 75 + 50 * 1.25, 75 + 50 * 1.25);
    st_costs_free(&costs);
}

/* 1 ns a token in each of two chunks: 192 tokens in three micro-batches. */
static void micro_batches_follow_each_other(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){1, 1, 1, 1});
    st_schedule s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){0, 1});
    st_sim_result r = run(&costs, &s, 1, 192, 1);
    assert_float_equal(r.prefill_tokens_per_s, 0.5e9, 1);
    ends(&r, 384, 384);
    s.pipelined = true;
    r = run(&costs, &s, 1, 192, 1);
    assert_float_equal(r.ttft_ns, 256, 1e-6);
    ends(&r, 256, 256);
    r = run(&costs, &s, 1, 130, 1); /* 64, 64, 2: the last waits for the second */
    ends(&r, 194, 194);
    st_costs_free(&costs);
}

/* A small micro-batch is faster on its way, and still does not overtake. */
static void calls_do_not_overtake_on_the_way(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 2, 2, (double[]){1, 1, 1, 1});
    costs.transfers[1] = (st_cost_transfer){.token_ns = 10};
    st_schedule s = schedule_make(ST_SCHEDULE_PLACED, &costs, (uint32_t[]){0, 1});
    s.pipelined = true;
    st_sim_result r = run(&costs, &s, 1, 66, 1); /* 64 leave at 64 and arrive at 704; 2 leave at 66 */
    ends(&r, 704 + 64 + 2, 704 + 64 + 2);
    st_costs_free(&costs);
}

/* The head computes logits for a prompt's last token only. */
static void the_last_micro_batch_pays_for_logits(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 1, (double[]){100});
    st_cost_curve_add(st_costs_curve(&costs, 0, 0, ST_WORK_PREFILL), 1, 70);
    st_cost_curve_add(st_costs_curve(&costs, 0, 0, ST_WORK_PREFILL), 64, 700);
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0});
    st_sim_result r = run(&costs, &s, 1, 128, 1);
    ends(&r, 1430, 1430);
    st_costs_free(&costs);
}

/* One row 100, four rows 130; four tokens of prompts 160. */
static void streams_in_one_call_share_it(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 1, (double[]){100});
    st_cost_curve_add(st_costs_curve(&costs, 0, 0, ST_WORK_DECODE), 4, 130);
    st_cost_curve_add(st_costs_curve(&costs, 0, 0, ST_WORK_PREFILL), 4, 160);
    st_schedule s = schedule_make(ST_SCHEDULE_BATCHED, &costs, (uint32_t[]){0});
    s.streams = s.batch = 4;
    st_sim_result r = run(&costs, &s, 4, 1, 3);
    ends(&r, 160, 160 + 2 * 130);
    /* Prompts in calls of two tokens, 120: the first two streams decode in the second, as two rows more, 160. */
    s.micro_batch = 2;
    r = run(&costs, &s, 4, 1, 3);
    assert_float_equal(r.streams[2].first_ns, 280, 1e-6);
    assert_float_equal(r.streams[0].last_ns, 410, 1e-6);
    ends(&r, 120, 120 + 160 + 130 + 110);
    st_costs_free(&costs);
}

/* A prompt of two micro-batches and a stream that decodes take turns where they do not share calls. */
static void prompts_and_steps_take_turns(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 2, (double[]){100, 100});
    st_schedule s = schedule_make(ST_SCHEDULE_REPLICAS, &costs, (uint32_t[]){0});
    s.n_units = 2;
    snprintf(s.units[1], ST_PLAN_NAME, "u1");
    s.streams = 4;
    s.micro_batch = 1;
    st_sim_result r = run(&costs, &s, 4, 2, 3); /* streams 0 and 2 on the first unit */
    /* read 0, read 0, step 0, read 2, step 0, read 2, step 2, step 2 */
    assert_float_equal(r.streams[0].last_ns, 500, 1e-6);
    assert_float_equal(r.streams[2].first_ns, 600, 1e-6);
    assert_float_equal(r.prefill_tokens_per_s, 8e9 / 500, 1e-3); /* a prompt that waits for its turn is not read */
    ends(&r, 200, 800);
    st_costs_free(&costs);
}

/* Two streams for two slots, the third takes the place of the first that ends. */
static void waiting_streams_take_the_place_of_those_that_end(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 1, (double[]){100});
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0});
    st_sim_result r = run(&costs, &s, 3, 1, 2);
    assert_float_equal(r.streams[1].first_ns, 300, 1e-6);
    assert_float_equal(r.streams[2].last_ns, 600, 1e-6);
    assert_float_equal(r.tokens_per_s, 1e9 / 100, 1e-3);
    assert_float_equal(r.ttft_ns, 300, 1e-6);
    assert_float_equal(r.latency_ns, 200, 1e-6); /* the mean of 200 / 2, 400 / 2 and 600 / 2 */
    ends(&r, 100, 600);
    st_costs_free(&costs);
}

/* Prompts 50 on one unit, decode 100 a row on the other, KV 5 ns on the way. */
static void a_handover_decodes_while_it_reads(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 2, (double[]){100, 50});
    costs.transfers[2].kv_token_ns = 5;
    st_schedule s = schedule_make(ST_SCHEDULE_HANDOVER, &costs, (uint32_t[]){0});
    s.n_units = 2;
    snprintf(s.units[1], ST_PLAN_NAME, "u1");
    s.prompt_unit = 1;
    s.streams = s.batch = 2;
    s.micro_batch = 1;
    st_sim_result r = run(&costs, &s, 2, 1, 3);
    assert_float_equal(r.streams[0].last_ns, 355, 1e-6); /* 55 to 155 alone, then both in one call of 200 */
    assert_float_equal(r.streams[1].first_ns, 100, 1e-6);
    ends(&r, 50, 455);
    st_costs_free(&costs);
}

/* A row 100, each further one 10. */
static void table_of_drafts(st_costs *costs, double acceptance) {
    table_make(costs, 1, 2, (double[]){100, 100});
    st_cost_curve_add(st_costs_curve(costs, 0, 0, ST_WORK_DECODE), 2, 110);
    costs->acceptance[ST_DRAFT_LOOKUP] = costs->acceptance[ST_DRAFT_MODEL] = acceptance;
}

static void right_drafts_save_steps_and_wrong_ones_cost(void **state) {
    (void)state;
    st_costs costs;
    table_of_drafts(&costs, 1);
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0});
    s.draft = ST_DRAFT_LOOKUP;
    s.longest_draft = 3;
    st_sim_result r = run(&costs, &s, 1, 1, 10); /* the first step is plain */
    assert_float_equal(r.accepted, 4, 1e-9);
    ends(&r, 100, 100 + 100 + 2 * 130);
    costs.acceptance[ST_DRAFT_LOOKUP] = 0;
    r = run(&costs, &s, 1, 1, 10);
    assert_float_equal(r.accepted, 1, 1e-9);
    ends(&r, 100, 100 + 100 + 5 * 130 + 120 + 110 + 100);
    st_costs_free(&costs);
}

/* Drafts of up to so many tokens by a model on the second unit. */
/* One chunk of 100, and 10 more for each further row: the prompt to 116, a plain step to 232, and a draft of two, all
 * right, whose verification takes 120 and, at the host, 10 for the call, 1 for looking the draft up and 5 for each of
 * three tokens. */
static void the_host_makes_text_of_every_token_that_was_right(void **state) {
    (void)state;
    st_costs costs;
    table_make(&costs, 1, 1, (double[]){100});
    st_cost_curve_add(st_costs_curve(&costs, 0, 0, ST_WORK_DECODE), 2, 110);
    costs.host = (st_cost_host){.choose_ns = 10, .text_ns = 5, .lookup_ns = 1};
    costs.acceptance[ST_DRAFT_LOOKUP] = 1;
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0});
    s.draft = ST_DRAFT_LOOKUP;
    s.longest_draft = 2;
    st_sim_result r = run(&costs, &s, 1, 1, 5);
    ends(&r, 116, 232 + 120 + 26);
    costs.acceptance[ST_DRAFT_LOOKUP] = 0; /* one token of each: two verified in vain, and the last, plain */
    r = run(&costs, &s, 1, 1, 5);
    ends(&r, 116, 232 + 136 + 126 + 116);
    st_costs_free(&costs);
}

static st_schedule drafts_by_a_model(const st_costs *costs, uint32_t longest) {
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, costs, (uint32_t[]){0});
    s.n_units = 2;
    snprintf(s.units[1], ST_PLAN_NAME, "u1");
    s.draft = ST_DRAFT_MODEL;
    s.draft_unit = 1;
    s.longest_draft = longest;
    return s;
}

static void a_model_drafts_while_its_last_draft_is_verified(void **state) {
    (void)state;
    st_costs costs;
    table_of_drafts(&costs, 1);
    costs.units[1].draft_ns = 10;
    /* Three tokens ahead while the prompt is read; a plain step to 200; a draft to 220, verified at 340; the next one,
     * made meanwhile, at 450. */
    st_schedule s = drafts_by_a_model(&costs, 2);
    st_sim_result r = run(&costs, &s, 1, 1, 7);
    assert_float_equal(r.busy_ns[1], 70, 1e-6);
    ends(&r, 100, 450);
    costs.acceptance[ST_DRAFT_MODEL] = 0;
    costs.units[1].draft_ns = 150;
    costs.units[1].draft_read_ns = 10;
    /* At 100 it is at the second token, to 160, so that only the step from 200 on is timed alone. Drafts from 300 to
     * 450, verified at 560, when the token to 600 is for nothing; from there to 750, verified at 860; and to 1010. */
    s.longest_draft = 1;
    r = run(&costs, &s, 1, 1, 7);
    assert_float_equal(r.busy_ns[1], 10 + 5 * 150, 1e-6);
    ends(&r, 100, 1220);
    st_costs_free(&costs);
}

/* It reads until 10,000, but the last token is there at 300. */
static void what_nobody_waits_for_ends_with_the_last_token(void **state) {
    (void)state;
    st_costs costs;
    table_of_drafts(&costs, 1);
    costs.units[1].draft_ns = 10;
    costs.units[1].draft_read_ns = 10000;
    st_schedule s = drafts_by_a_model(&costs, 2);
    st_workload workload = {1, 1, 3};
    st_sim_result r;
    stretto_error err = {0};
    assert_int_equal(st_simulate(&r, &costs, &s, &workload, &(st_sim_options){.record = true}, &err), STRETTO_OK);
    assert_float_equal(r.end_ns, 300, 1e-9);
    assert_float_equal(r.busy_ns[1], 300, 1e-9);
    assert_float_equal(r.utilisation[1], 1, 1e-9);
    assert_float_equal(r.beside_ns, 300, 1e-9);
    for (size_t i = 0; i < r.n_events; i++) assert_true(r.events[i].end_ns <= r.end_ns);
    st_sim_result_free(&r);
    st_costs_free(&costs);
}

/* While it reads the prompt, steps go on without it: the model's to 300, its own to 720. */
static void a_model_that_reads_is_not_waited_for(void **state) {
    (void)state;
    st_costs costs;
    table_of_drafts(&costs, 1);
    costs.units[1].draft_ns = 10;
    costs.units[1].draft_read_ns = 240;
    st_schedule s = drafts_by_a_model(&costs, 2);
    /* Plain steps to 800, then one that is timed; a draft to 920, verified at 1040, the second at 1160. */
    st_sim_result r = run(&costs, &s, 1, 3, 13);
    ends(&r, 300, 1160);
    costs.units[1].draft_read_ns = 0; /* as for the model there: three tokens of 100 are as long as three of 10 */
    assert_float_equal(st_cost_draft_read_ns(&costs, 1, 3), 30, 1e-9);
    st_costs_free(&costs);
}

static void what_cannot_be_simulated_says_why(void **state) {
    (void)state;
    st_costs costs;
    st_sim_result out;
    stretto_error err;
    table_make(&costs, 1, 1, (double[]){100});
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0});
    st_workload workload = {1, 0, 4};
    st_sim_options options = {0};
    assert_int_equal(st_simulate(&out, &costs, &s, &workload, &options, &err), STRETTO_E_USAGE);
    workload.prompt = 1;
    s.draft = ST_DRAFT_LOOKUP;
    s.longest_draft = 2;
    assert_int_equal(st_simulate(&out, &costs, &s, &workload, &options, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "how often a draft by lookup is right is not known (\"acceptance\")");
    st_costs_free(&costs);
}

/* What would take minutes and gigabytes is refused at once; what takes long can be cancelled. */
static void a_simulation_is_bounded(void **state) {
    (void)state;
    st_costs costs;
    st_sim_result out;
    stretto_error err;
    atomic_bool cancel = true;
    table_make(&costs, 1, 1, (double[]){100});
    st_schedule s = schedule_make(ST_SCHEDULE_SERIAL, &costs, (uint32_t[]){0});
    st_workload workload = {256, 1, 100000};
    st_sim_options options = {.record = true};
    assert_int_equal(st_simulate(&out, &costs, &s, &workload, &options, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "more than 16777216 events: too many streams, tokens or chunks to simulate");
    assert_null(out.events);
    workload = (st_workload){1, 1, 100000};
    options.cancel = &cancel;
    assert_int_equal(st_simulate(&out, &costs, &s, &workload, &options, &err), STRETTO_E_STOPPED);
    assert_null(out.events);
    cancel = false;
    assert_int_equal(st_simulate(&out, &costs, &s, &workload, &options, &err), STRETTO_OK);
    assert_int_equal(out.n_events, 200000);
    st_sim_result_free(&out);
    st_costs_free(&costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_is_a_chain),
        cmocka_unit_test(the_host_takes_as_long_as_the_last_unit_says),
        cmocka_unit_test(placing_one_stream_gains_nothing_and_pays_the_way),
        cmocka_unit_test(staged_streams_keep_both_units_busy),
        cmocka_unit_test(rates_change_when_a_neighbour_ends),
        cmocka_unit_test(a_call_has_as_many_tokens_as_a_context),
        cmocka_unit_test(several_rows_have_slowdowns_of_their_own),
        cmocka_unit_test(slowdowns_of_several_neighbours_add_up),
        cmocka_unit_test(micro_batches_follow_each_other),
        cmocka_unit_test(calls_do_not_overtake_on_the_way),
        cmocka_unit_test(the_last_micro_batch_pays_for_logits),
        cmocka_unit_test(streams_in_one_call_share_it),
        cmocka_unit_test(prompts_and_steps_take_turns),
        cmocka_unit_test(waiting_streams_take_the_place_of_those_that_end),
        cmocka_unit_test(a_handover_decodes_while_it_reads),
        cmocka_unit_test(right_drafts_save_steps_and_wrong_ones_cost),
        cmocka_unit_test(the_host_makes_text_of_every_token_that_was_right),
        cmocka_unit_test(a_model_drafts_while_its_last_draft_is_verified),
        cmocka_unit_test(what_nobody_waits_for_ends_with_the_last_token),
        cmocka_unit_test(a_model_that_reads_is_not_waited_for),
        cmocka_unit_test(what_cannot_be_simulated_says_why),
        cmocka_unit_test(a_simulation_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
