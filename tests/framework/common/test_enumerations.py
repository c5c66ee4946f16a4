"""Members of enumerations: their numbers, names and texts, and values of no member."""

import pytest

from merganser.framework import EventStatus, InputPortSelection, WitnessFunctionDirection


@pytest.mark.parametrize("member", [WitnessFunctionDirection.kNegativeThenNonNegative, EventStatus.kReachedTermination])
def test_members_convert_to_their_numbers(member):
    assert int(member) == member.value == 2
    assert "abc"[member] == "c"
    assert type(member)(2) is member
    assert str(member) == f"{type(member).__name__}.{member.name}"
    assert repr(member) == f"<{member}: 2>"


def test_a_value_of_no_member_is_refused_with_a_list_of_members():
    with pytest.raises(ValueError, match=r"WitnessFunctionDirection has no member with .* 7; there are kNone = 0"):
        WitnessFunctionDirection(7)


def test_members_of_different_enumerations_with_one_number_are_not_equal():
    assert WitnessFunctionDirection.kNone != WitnessFunctionDirection.kNone.value
    assert int(InputPortSelection.kUseFirstInputIfItExists) == -2
