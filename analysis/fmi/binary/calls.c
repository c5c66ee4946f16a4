/* What compiled code calls of Python and of numba where these run it: here, what takes its place.
 *
 * A function of Python is given as the address of two words: its number (closed_plan.py), and the address of the Problem of
 * the loop. A pointer to an object is twice an integer, and one. */

#include "instance.h"

enum { LOOK, OF_TRIGGERS = 5 };
enum { SUCCEEDED = 0, LEFT_TO_PYTHON = 7 };

bool has_missed_code;

/* Compiled code calls this where it needs a function that the model was not expected to need (shared_code.py). */
void merganser_find_code(void *cell)
{
    (void)cell;
    has_missed_code = true;
}

int PyGILState_Ensure(void) { return 0; }

void PyGILState_Release(int state) { (void)state; }

void *PyObject_CallObject(const int64_t *function, void *arguments)
{
    (void)arguments;
    int64_t outcome = LEFT_TO_PYTHON;
    if (function[0] == LOOK) outcome = SUCCEEDED;
    if (function[0] == OF_TRIGGERS) {
        void *exception = NULL;
        typedef int32_t (*Note)(void *, void **, int64_t);
        if (((Note)model_codes[model.entries.NOTE_TRIGGERS])(&outcome, &exception, function[1])) outcome = LEFT_TO_PYTHON;
    }
    return (void *)(intptr_t)(2 * outcome + 1);
}

int64_t PyLong_AsLongLong(void *object) { return (int64_t)((intptr_t)object - 1) / 2; }

void Py_DecRef(void *object) { (void)object; }

void PyErr_Fetch(void **kind, void **value, void **trace) { *kind = *value = *trace = NULL; }

double numba_nextafter(double x, double y) { return nextafter(x, y); }

double numba_frexp(double x, int *exponent) { return frexp(x, exponent); }

double numba_ldexp(double x, int exponent) { return ldexp(x, exponent); }
