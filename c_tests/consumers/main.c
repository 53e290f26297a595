/* The least that a program which uses libaoe does. */
#include <aoe.h>
#include <stdio.h>

int main(void) {
    if (AoeGetVersion() != AOE_VERSION) return 1;
    if (AoeInitialize(NULL, 0) != AOE_SUCCESS) return 2;
    if (AoeFinalize() != AOE_SUCCESS) return 3;
    printf("libaoe %u.%u.%u\n", AoeGetVersion() >> 16, AoeGetVersion() >> 8 & 255, AoeGetVersion() & 255);
    return 0;
}
