from .answers import Answer as Answer
from .graphs import table_of as table_of
from .plans import verify_plan as verify_plan
from .rules import PanelRule as PanelRule
from .rules import PlainRules as PlainRules
from .rules import check_rules as check_rules
