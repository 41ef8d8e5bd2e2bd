/* SPDX-License-Identifier: MIT */
/* Functions longer than 255 and than 65535 bytes: start offsets of two and of four bytes. */
extern int observe(const void *where, int value);

#define CALL_1(n) sum ^= observe(&sum, sum + (n) * 7);
#define CALL_8(n) CALL_1(n) CALL_1(n + 1) CALL_1(n + 2) CALL_1(n + 3) CALL_1(n + 4) CALL_1(n + 5) CALL_1(n + 6) CALL_1(n + 7)
#define CALL_64(n) CALL_8(n) CALL_8(n + 8) CALL_8(n + 16) CALL_8(n + 24) CALL_8(n + 32) CALL_8(n + 40) CALL_8(n + 48) CALL_8(n + 56)
#define CALL_512(n) CALL_64(n) CALL_64(n + 64) CALL_64(n + 128) CALL_64(n + 192) CALL_64(n + 256) CALL_64(n + 320) CALL_64(n + 384) CALL_64(n + 448)

int two_byte_offsets(int sum)
{
	CALL_64(1)
	return sum;
}

int four_byte_offsets(int sum)
{
	CALL_512(1)
	CALL_512(513)
	CALL_512(1025)
	CALL_512(1537)
	CALL_512(2049)
	CALL_512(2561)
	CALL_512(3073)
	CALL_512(3585)
	return sum;
}
