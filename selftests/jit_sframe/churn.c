// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks stay exact while the tables change at full speed.
 *
 * One thread publishes: it appends, retires, retargets, flips, lets sections
 * grow and shrink, wipes what it flipped away from, and registers and
 * unregisters a second area, without a pause. The other one runs JIT code and
 * is sampled at a high rate in both contexts at once. Its functions stay
 * published throughout, among others that come and go.
 */
#include <pthread.h>
#include <sched.h>

#include "jit.h"
#include "kselftest_harness.h"
#include "expect.h"

#define LEVELS		16
#define SPIN		20
#define PERIOD		20000
#define SLICE		20000000
#define SECONDS		800

#define SAMPLES		(100000ULL * jit_share() / 100)
#define SAMPLES_AGAIN	(10000ULL * jit_share() / 100)

/*
 * The text: real functions in the lower half, one in eight slots; others, never
 * run, of 64 bytes each, in all slots between and in the upper half.
 */
#define NR_REAL		4
#define REAL_SLOT(i)	(8 * (i) + 4)
#define OTHERS_IN_SLOT	(CODE_SLOT / 64)
#define NR_LOW		(32 * OTHERS_IN_SLOT)
#define NR_OTHERS	(64 * OTHERS_IN_SLOT)
#define MAX_LOW		48
#define MIN_CAPACITY	256

enum move { APPEND, RETIRE, RETARGET, FLIP, REGISTER, NR_MOVES };

static const char * const move_names[NR_MOVES] = {
	"appended", "retired", "retargeted", "flipped", "registered",
};

/**
 * struct churn - the publishing thread's state
 * @lock: held for each move: one producer at a time
 * @other: what describes a function that is never run, but for its start
 * @published: functions in the live section, in order
 * @next: the next function above all published ones
 */
struct churn {
	struct jit *jit;
	struct area second;
	pthread_mutex_t lock;
	struct function others[MAX_LOW];
	struct function other;
	__u32 published[MAX_LOW + NR_OTHERS];
	unsigned int nr_published;
	unsigned int next;
	__u64 random;
	__u64 moves[NR_MOVES];
	int failed;
	bool stop;
};

FIXTURE(churn) {
	struct jit jit;
	struct churn *churn;
	struct verdicts verdicts[2];
	struct sampler *samplers[2];
	pthread_t thread;
};

/* xorshift64: the same moves in every run, if not at the same times. */
static __u32 pick(__u64 *random, __u32 below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (__u32)(*random >> 33) % below;
}

static __u64 other_start(const struct churn *churn, unsigned int i)
{
	return (__u64)churn->jit->text + i * 64;
}

/* Rules and sizes that would lead a walk astray if they were taken for others. */
static void vary(struct churn *churn, struct function *fn)
{
	unsigned int i;

	fn->size = 1 + pick(&churn->random, 64);
	fn->nr_rows = 1 + pick(&churn->random, 6);
	for (i = 0; i < fn->nr_rows; i++) {
		fn->rows[i].start = i;
		fn->rows[i].cfa = 8 * (1 + pick(&churn->random, 5000));
		fn->rows[i].fp = pick(&churn->random, 2) ? -16 : 0;
		fn->rows[i].ra = fn->rows[i].fp ? -8 : 0;
	}
}

static void append(struct churn *churn)
{
	if (churn->next == NR_OTHERS)
		return;
	churn->other.start = other_start(churn, churn->next);
	vary(churn, &churn->other);
	if (area_append(&churn->jit->area, &churn->other))
		return;
	churn->published[churn->nr_published++] = churn->next++;
	churn->moves[APPEND]++;
}

static void retire(struct churn *churn)
{
	__u32 i = churn->published[pick(&churn->random, churn->nr_published)];

	churn->failed |= !!area_retire(&churn->jit->area, other_start(churn, i));
	churn->moves[RETIRE]++;
}

/* One that is never run, made again in another way; or a real one, the same. */
static void retarget(struct churn *churn)
{
	__u32 i = churn->published[pick(&churn->random, churn->nr_published)];
	const struct function *fn = &churn->other;

	churn->other.start = other_start(churn, i);
	vary(churn, &churn->other);
	if (pick(&churn->random, 4) == 0)
		fn = &churn->jit->fns[pick(&churn->random, NR_REAL)];
	churn->moves[RETARGET] += !area_retarget(&churn->jit->area, fn);
}

/* A new section of all real functions and some others between them. */
static void flip(struct churn *churn)
{
	const struct function *fns[NR_REAL + MAX_LOW];
	struct area *area = &churn->jit->area;
	struct section *sec = &area->slots[area->live == 0];
	unsigned int nr = 0, real = 0, i = pick(&churn->random, 40);

	churn->nr_published = 0;
	for (; i < NR_LOW && churn->nr_published < MAX_LOW;
	     i += 1 + pick(&churn->random, 40)) {
		struct function *fn = &churn->others[churn->nr_published];

		while (real < NR_REAL &&
		       churn->jit->fns[real].start < other_start(churn, i))
			fns[nr++] = &churn->jit->fns[real++];
		/* Not in the slot of a real one. */
		if (i / OTHERS_IN_SLOT % 8 == 4)
			continue;
		fn->start = other_start(churn, i);
		vary(churn, fn);
		fns[nr++] = fn;
		churn->published[churn->nr_published++] = i;
	}
	while (real < NR_REAL)
		fns[nr++] = &churn->jit->fns[real++];

	if (pick(&churn->random, 2))
		memset(sec->base, pick(&churn->random, 256), 4096);
	sec->capacity = MIN_CAPACITY + pick(&churn->random, 700);
	churn->failed |= !!area_flip(area, fns, nr);
	churn->next = NR_LOW;
	churn->moves[FLIP]++;
}

static void register_second(struct churn *churn)
{
	struct jit_sframe_register reg = area_registration(&churn->second);

	/* Below the first text or above it: the first area moves, or not. */
	reg.text_start += pick(&churn->random, 2) ? 1ULL << 40 : 0;
	churn->failed |= !!jit_sframe_register(&reg);
	churn->failed |= !!jit_sframe_unregister(churn->second.head);
	churn->moves[REGISTER]++;
}

static void move(struct churn *churn)
{
	switch (pick(&churn->random, 16)) {
	case 0 ... 6:
		append(churn);
		break;
	case 7 ... 9:
		retire(churn);
		break;
	case 10 ... 13:
		retarget(churn);
		break;
	case 14:
		flip(churn);
		break;
	default:
		register_second(churn);
		break;
	}
}

static void run_on(unsigned int nth)
{
	cpu_set_t allowed, one;
	int cpu;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	nth %= CPU_COUNT(&allowed);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && !nth--)
			break;
	}
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *churn_thread(void *arg)
{
	struct churn *churn = arg;

	run_on(1);
	while (!__atomic_load_n(&churn->stop, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&churn->lock);
		move(churn);
		pthread_mutex_unlock(&churn->lock);
	}
	return NULL;
}

static void emit_real(struct jit *jit, __u64 *random)
{
	unsigned int i;

	jit->nr_fns = NR_REAL;
	for (i = 0; i < NR_REAL; i++)
		code_emit(&jit->fns[i], jit_slot(jit, REAL_SLOT(i)),
			  code_shapes[random ? pick(random, code_nr_shapes) : i],
			  jit_slot(jit, REAL_SLOT((i + 1) % NR_REAL)), SPIN);
	chain_plan(&jit->chain, jit->fns, NR_REAL, LEVELS);
}

FIXTURE_SETUP(churn)
{
	struct jit_sframe_register second = {
		.text_start = 0x10000000,
		.text_size = 0x1000,
	};
	const char *missing = jit_missing();
	int i;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, jit_init(&self->jit, JIT_SFRAME_NO_FP_FALLBACK));
	self->churn = calloc(1, sizeof(*self->churn));
	ASSERT_NE(NULL, self->churn);
	self->churn->jit = &self->jit;
	self->churn->random = 88172645463325252ULL;
	pthread_mutex_init(&self->churn->lock, NULL);
	ASSERT_EQ(0, area_init(&self->churn->second, 4096 * 4, 16, &second));

	emit_real(&self->jit, NULL);
	flip(self->churn);
	ASSERT_EQ(0, self->churn->failed);
	ASSERT_EQ(0, jit_register(&self->jit));
	sampler_raise_limits();
	for (i = 0; i < 2; i++) {
		self->samplers[i] = calloc(1, sizeof(struct sampler));
		ASSERT_EQ(0, sampler_open(self->samplers[i], 0, TRIGGER_CLOCK,
					  PERIOD, i));
		verdicts_init(&self->verdicts[i], &self->jit.chain,
			      i ? "deferred" : "immediate");
	}
	run_on(0);
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, churn_thread,
				    self->churn));
}

FIXTURE_TEARDOWN(churn)
{
	int i;

	for (i = 0; i < 2 && self->samplers[i]; i++)
		sampler_close(self->samplers[i]);
}

static void run_sampled(struct _test_data_churn *self, __u64 ns)
{
	int i;

	for (i = 0; i < 2; i++)
		sampler_start(self->samplers[i]);
	jit_run(&self->jit, ns);
	for (i = 0; i < 2; i++)
		sampler_stop(self->samplers[i]);
	for (i = 0; i < 2; i++)
		sampler_drain(self->samplers[i], verdicts_judge,
			      &self->verdicts[i]);
	for (i = 0; i < 2; i++)
		sampler_adapt(self->samplers[i], ns);
}

static __u64 judged(const struct _test_data_churn *self)
{
	return self->verdicts[0].samples + self->verdicts[1].samples;
}

static void finish(struct __test_metadata *_metadata, struct _test_data_churn *self,
		   __u64 samples)
{
	unsigned int i;

	__atomic_store_n(&self->churn->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(self->thread, NULL));
	printf("#");
	for (i = 0; i < NR_MOVES; i++)
		printf(" %llu %s%s", self->churn->moves[i], move_names[i],
		       i + 1 < NR_MOVES ? "," : "\n");
	for (i = 0; i < 2; i++) {
		const struct sampler *sampler = self->samplers[i];

		verdicts_print(&self->verdicts[i]);
		printf("# %s: %llu lost, %llu without a stack, %llu throttles, one in %llu us\n",
		       self->verdicts[i].context, sampler->lost,
		       sampler->unmatched, sampler->throttled,
		       sampler->period / 1000);
		expect_exact(_metadata, &self->verdicts[i], samples / 8);
	}
	printf("# %llu samples judged\n", judged(self));
	EXPECT_EQ(0, self->churn->failed);
	EXPECT_LE(samples, judged(self));
	for (i = 0; i < NR_MOVES; i++)
		EXPECT_LT(samples / 500, self->churn->moves[i]);
}

TEST_F_TIMEOUT(churn, tables_around_running_code, 900)
{
	__u64 end = now_ns() + SECONDS * 1000000000ULL;
	__u64 said = now_ns();

	while (judged(self) < SAMPLES && now_ns() < end) {
		run_sampled(self, SLICE);
		if (now_ns() - said > 10000000000ULL) {
			printf("# %llu samples judged so far\n", judged(self));
			fflush(stdout);
			said = now_ns();
		}
	}
	finish(_metadata, self, SAMPLES);
}

/*
 * As dynamic methods: the running thread makes its own functions again and
 * again at the same addresses, each time with other frames.
 */
TEST_F_TIMEOUT(churn, code_made_again, 900)
{
	__u64 end = now_ns() + SECONDS * 1000000000ULL;
	__u64 random = 2463534242ULL, rounds = 0;
	unsigned int i;

	while (judged(self) < SAMPLES_AGAIN && now_ns() < end) {
		bool in_place = true;

		pthread_mutex_lock(&self->churn->lock);
		emit_real(&self->jit, &random);
		for (i = 0; i < NR_REAL; i++)
			in_place &= !area_retarget(&self->jit.area,
						   &self->jit.fns[i]);
		if (!in_place)
			flip(self->churn);
		pthread_mutex_unlock(&self->churn->lock);
		run_sampled(self, SLICE / 32);
		rounds++;
	}
	printf("# made %llu times\n", rounds);
	finish(_metadata, self, SAMPLES_AGAIN);
}

TEST_HARNESS_MAIN
