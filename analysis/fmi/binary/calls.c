/* What compiled code calls of Python where Python runs it: here, what takes its place.
 *
 * A function of Python is given as the address of two words: its number (closed_plan.py), and the address of the Problem of
 * the loop. A pointer to an object is twice an integer, and one. */

#include <stddef.h>
#include <stdint.h>

enum { LOOK };
enum { SUCCEEDED = 0, LEFT_TO_PYTHON = 7 };

int PyGILState_Ensure(void) { return 0; }

void PyGILState_Release(int state) { (void)state; }

void *PyObject_CallObject(const int64_t *function, void *arguments)
{
    (void)arguments;
    int64_t outcome = function && function[0] == LOOK ? SUCCEEDED : LEFT_TO_PYTHON;
    return (void *)(intptr_t)(2 * outcome + 1);
}

int64_t PyLong_AsLongLong(void *object) { return (int64_t)((intptr_t)object - 1) / 2; }

void Py_DecRef(void *object) { (void)object; }

void PyErr_Fetch(void **kind, void **value, void **trace) { *kind = *value = *trace = NULL; }
