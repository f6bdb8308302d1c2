/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan is refused, or is read within its bounds. */
#include <stdint.h>
#include <string.h>

#include "common/base.h"
#include "plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan plan;
	size_t sum = 0;
	char *text = take(size + 1);

	memcpy(text, data, size);
	if (!plan_parse(&plan, text, size))
		for (size_t i = 0; i < plan.count; i++) {
			const struct step *step = &plan.steps[i];

			sum += strlen(step->unit) + strlen(step->object) + strlen(kind_name(step->kind));
			for (unsigned int j = 0; j < step->count; j++)
				sum += step->words[j].length + (size_t)(unsigned char)step->words[j].text[step->words[j].length] +
				       (word_number(&step->words[j], 8, 07777) > 0);
		}
	plan_free(&plan);
	return sum == SIZE_MAX;
}
