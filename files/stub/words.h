/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Words of a kernel command line. */
#ifndef KUP_WORDS_H
#define KUP_WORDS_H

#include <stdint.h>

/* COMMAND_LINE_SIZE of x86 */
#define COMMAND_LINE_SIZE 2048

/*
 * The end of the word that begins with @prefix in @line, or 0. The last one wins, as for the kernel's own parameters.
 * @line is read up to its NUL, and never beyond COMMAND_LINE_SIZE.
 */
static inline const char *find_word(const char *line, const char *prefix)
{
	const char *found = 0;
	int start = 1;

	for (int i = 0; i < COMMAND_LINE_SIZE && line[i]; i++) {
		if (start) {
			int n = 0;

			while (prefix[n] && i + n < COMMAND_LINE_SIZE && line[i + n] == prefix[n])
				n++;
			if (!prefix[n] && i + n < COMMAND_LINE_SIZE)
				found = line + i + n;
		}
		start = line[i] == ' ';
	}
	return found;
}

/* Read 1 to 16 hexadecimal digits after an optional 0x at *@text, and move it behind them. Returns 0 if there are none. */
static inline int read_hex(const char **text, uint64_t *value)
{
	const char *at = *text;
	int digits = 0;

	if (at[0] == '0' && at[1] == 'x')
		at += 2;
	for (*value = 0; digits < 17; digits++, at++) {
		unsigned int digit = (unsigned char)*at;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (digit >= 'a' && digit <= 'f')
			digit -= 'a' - 10;
		else
			break;
		*value = *value << 4 | digit;
	}
	*text = at;
	return digits >= 1 && digits <= 16;
}

#endif
