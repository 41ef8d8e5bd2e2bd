// SPDX-License-Identifier: MIT
#include "../host.hpp"

#include <cstring>

#include <cpuid.h>

namespace jitsframe::host {

namespace {

/* CPUID.(EAX=7,ECX=0):EDX[14], Intel SDM volume 2. */
bool has_serialize() noexcept
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & (1u << 14));
}

/* Asked once, when the library is loaded: under a hypervisor CPUID takes microseconds. */
const bool serialize_works = has_serialize();

} // namespace

void serialise() noexcept
{
	unsigned eax = 0, ebx, ecx = 0, edx;

	if (serialize_works)
		asm volatile(".byte 0x0f, 0x01, 0xe8" ::: "memory"); /* SERIALIZE */
	else
		asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx)::"memory");
}

/* Caches are coherent, and known by physical address. */
void finish_stores() noexcept
{
	asm volatile("" ::: "memory");
}

void fill_with_traps(std::byte *to, std::size_t bytes) noexcept
{
	std::memset(to, 0xcc, bytes); /* INT3 */
}

} // namespace jitsframe::host
